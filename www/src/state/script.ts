// The script and the options: the one editor, what is kept of it, and when it runs.
import { signal } from "@preact/signals";
import { createScriptEditor, setText } from "../editor/script";
import { showLinked } from "../editor/marks";
import { embedded } from "./embedded";
import { type Options, DEFAULTS } from "./options";
import type { Shared } from "./link";
import { select } from "./selection";
import { requestRun } from "./session";
import { addDraft, saveScript } from "./storage";

export const options = signal<Options>({ ...DEFAULTS });
/** Whether the text is as the link or example it came from: the address still stands for it. */
export const untouched = signal(true);

export const editor = createScriptEditor({
  readOnly: embedded,
  onEdit: () => {
    untouched.value = false;
    select(undefined);
    showLinked(editor, []);
  },
  onPause: () => {
    keep();
    runScript();
  },
  onRun: () => {
    keep();
    runScript();
  },
  onLines: (first, last) =>
    select({ from: "script", span: { line: first, column: 0, end_line: last, end_column: 0 }, names: [] }),
});

export function program(): string {
  return editor.state.doc.toString();
}

export function runScript(): void {
  requestRun(program(), options.value);
}

/** Opens a program in the place of what is there. */
export function open(shared: Shared): void {
  setText(editor, shared.program);
  options.value = shared.options;
  untouched.value = true;
  runScript();
}

export function setOption<K extends keyof Options>(key: K, value: Options[K]): void {
  options.value = { ...options.value, [key]: value };
  untouched.value = false;
  keep();
  runScript();
}

/** Keeps the visitor's own work; what was only opened is not kept over it. */
export function keep(): void {
  if (!untouched.value && !embedded) saveScript(program(), options.value);
}

/** Keeps the visitor's own work, also for when something else of theirs has taken its place. */
export function putAside(): void {
  keep();
  if (!untouched.value) addDraft({ program: program(), options: options.value });
}

/** Opens a program as the visitor's own work. */
export function adopt(shared: Shared): void {
  putAside();
  open(shared);
  untouched.value = false;
  putAside();
}
