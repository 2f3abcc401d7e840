// The example as it was recorded when the page was built (`scripts/record.mjs`): seen at once, until the interpreter is there and has run it.
import type { Answer, Event, Question } from "../generated/report";
import { showRecording } from "./session";

interface Recording {
  program: string;
  events: readonly Event[];
  answers: readonly { compilation: number; question: Question; answer: Answer }[];
}

/** Fetches and shows it, and comes back when it has been painted. Without it the page waits for the interpreter. */
export async function fetchRecording(url: string): Promise<void> {
  try {
    const response = await fetch(url);
    if (!response.ok) return;
    const { program, events, answers } = JSON.parse(await response.text(), reviver) as Recording;
    showRecording(program, events, new Map(answers.map(({ compilation, question, answer }) => [`${compilation} ${JSON.stringify(question)}`, answer])));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  } catch {
    // The interpreter says what is wrong, if something is.
  }
}

/** Bytes, which JSON has no form for, are told as text. */
function reviver(_key: string, value: unknown): unknown {
  const { base64 } = (typeof value === "object" && value !== null ? value : {}) as { base64?: unknown };
  return typeof base64 === "string" ? Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)) : value;
}
