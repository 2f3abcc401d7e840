// The title of the page is that of what it shows: the script's, by its first line, or the log's name.
import { effect, signal } from "@preact/signals";
import { titleIn } from "../exports/text";
import { plainText } from "../report/quote";
import { logRun } from "./session";

const NAME = "AOT Playground";

/** What the script calls itself. */
const scriptTitle = signal<string | undefined>(undefined);

/** Takes the title of a script that is opened or edited. */
export function titleScript(program: string): void {
  scriptTitle.value = titleIn(program);
}

export function followTitle(): void {
  effect(() => {
    const title = plainText(logRun.value?.log?.name ?? scriptTitle.value ?? "");
    document.title = title ? `${title} · ${NAME}` : NAME;
  });
}
