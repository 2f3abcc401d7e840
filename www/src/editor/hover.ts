// What the pointer rests on in a graph's text: a name says what its value is, an operator its signature.
import type { Extension, Text } from "@codemirror/state";
import { hoverTooltip } from "@codemirror/view";
import type { About } from "../report/about";
import { byTarget } from "../report/signatures";

let signatures: Promise<ReadonlyMap<string, string>> | undefined;

/** The signature of what a graph calls; the list is fetched when it is first asked for. */
async function signatureOf(target: string): Promise<string | undefined> {
  signatures ??= import("../../../docs/operators.md?raw").then((list) => byTarget(list.default));
  // Without the network there is none, now.
  const known = await signatures.catch(() => (signatures = undefined));
  return known?.get(target);
}

/** The word at a position, with the dots that it is part of. */
export function wordAt(doc: Text, pos: number): { from: number; to: number; text: string } | undefined {
  const line = doc.lineAt(pos);
  const isPart = (at: number): boolean => /[\w.]/.test(line.text[at] ?? "");
  let [from, to] = [pos - line.from, pos - line.from];
  while (from > 0 && isPart(from - 1)) from -= 1;
  while (isPart(to)) to += 1;
  const text = line.text.slice(from, to);
  return /^[A-Za-z_]/.test(text) ? { from: line.from + from, to: line.from + to, text } : undefined;
}

/** `of` says what a word is: a name, or an operator on a line (counted from 0). */
export function hovers(of: (word: string, line: number) => About | undefined): Extension {
  return hoverTooltip(async (view, pos) => {
    const word = wordAt(view.state.doc, pos);
    const found = word && of(word.text, view.state.doc.lineAt(pos).number - 1);
    if (!word || !found) return null;
    const signature = found.target ? await signatureOf(found.target) : undefined;
    return { pos: word.from, end: word.to, above: true, create: () => ({ dom: card(found, signature) }) };
  });
}

function card({ name, source, facts }: About, signature: string | undefined): HTMLElement {
  const box = document.createElement("div");
  box.className = "hover-card";
  const add = (tag: string, text: string, look = ""): void => {
    const element = document.createElement(tag);
    element.textContent = text;
    element.className = look;
    box.append(element);
  };
  add("p", source === undefined ? name : `${name}: ${source}`, "code name");
  if (signature !== undefined) add("p", signature, "code");
  for (const fact of facts) add("p", fact);
  return box;
}
