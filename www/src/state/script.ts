// The script and the options: the one editor, what is kept of it, and when it runs.
import { signal } from "@preact/signals";
import { createScriptEditor, setText } from "../editor/script";
import { showLinked } from "../editor/marks";
import { withSetting } from "../report/setting";
import { embedded } from "./embedded";
import { type Options, options } from "./options";
import type { Shared } from "./link";
import { onModules, sameFiles, scriptFiles, setModules } from "./modules";
import { select } from "./selection";
import { requestRun } from "./session";
import { titleScript } from "./title";
import { addDraft, loadScript, onScriptElsewhere, saveScript } from "./storage";

/** Whose a program is. What one link's script did to its interpreter no other script meets: each link counts for itself. */
export type Origin = "own" | "example" | `link ${number}`;

/** Whether the text is as the link or example it came from: the address still stands for it. */
export const untouched = signal(true);

let origin: Origin = "example";
let links = 0;
/** Whether there is a program yet: what an empty editor holds is nobody's. */
let opened = false;
/** Whether there are edits that are not kept yet. */
let dirty = false;
/** Whether the visitor changed anything in this tab. */
let edited = false;

/** Takes a pasted text that is no script, and says whether it did. */
let takePaste: ((text: string) => boolean) | undefined;

export function onPaste(take: (text: string) => boolean): void {
  takePaste = take;
}

function touch(): void {
  untouched.value = false;
  dirty = true;
  edited = true;
}

export const editor = createScriptEditor({
  label: "Script",
  readOnly: embedded,
  onEdit: () => {
    touch();
    select(undefined);
    showLinked(editor, []);
  },
  onPause: () => {
    titleScript(program());
    keep();
    runScript();
  },
  onRun: () => {
    keep();
    runScript();
  },
  onPaste: (text) => takePaste?.(text) ?? false,
  onLines: (first, last) =>
    select({ from: "script", span: { line: first, column: 0, end_line: last, end_column: 0 }, names: [] }),
});

onModules({
  edit: () => {
    touch();
    select(undefined);
  },
  pause: () => {
    keep();
    runScript();
  },
  run: () => {
    keep();
    runScript();
  },
  paste: (text) => takePaste?.(text) ?? false,
});

export function program(): string {
  return editor.state.doc.toString();
}

/** What is on the page: the script, the files beside it, the options. */
export function current(): Shared {
  const files = scriptFiles();
  return { program: program(), options: options.value, ...(files.length > 0 ? { files } : {}) };
}

/** Whether two are the same program, whatever its options. */
export function sameProgram(a: Shared, b: Shared): boolean {
  return a.program === b.program && sameFiles(a.files, b.files);
}

export function runScript(): void {
  requestRun(program(), scriptFiles(), options.value, origin);
}

/** The visitor has added, renamed or closed files beside the script. */
export function modulesChanged(): void {
  touch();
  keep();
  runScript();
}

/** Writes a setting of PyTorch's into the script, and runs it. */
export function runWith(setting: string): void {
  useProgram(withSetting(program(), setting));
}

/** Puts another text into the editor in the place of the script, as the visitor's own edit, and runs it. */
export function useProgram(text: string): void {
  setText(editor, text);
  touch();
  keep();
  runScript();
}

/** The origin of a link that is opened now. */
export function newLink(): Origin {
  links += 1;
  return `link ${links}`;
}

/** Opens a program in the place of what is there, and runs it unless it `waits` for the visitor. */
export function open(shared: Shared, from: Origin, { waits = false } = {}): void {
  setText(editor, shared.program);
  setModules(shared.files);
  titleScript(shared.program);
  options.value = shared.options;
  origin = from;
  untouched.value = true;
  opened = true;
  dirty = false;
  if (!waits) runScript();
}

/** Opens the visitor's own program, as it is kept. */
export function openOwn(shared: Shared): void {
  open(shared, "own");
  untouched.value = false;
}

export function setOption<K extends keyof Options>(key: K, value: Options[K]): void {
  options.value = { ...options.value, [key]: value };
  touch();
  keep();
  runScript();
}

/** Keeps what the visitor wrote; what was only opened is not kept over it. */
export function keep(): void {
  if (dirty && opened && !embedded) dirty = !saveScript(current());
}

/** Keeps the visitor's own work, also for when something else of theirs has taken its place. */
export function putAside(): void {
  keep();
  if (!untouched.value && opened && !embedded) addDraft(current());
}

/** Opens a program as the visitor's own work. */
export function adopt(shared: Shared): void {
  putAside();
  openOwn(shared);
  dirty = true;
  putAside();
}

/** Another tab has kept the visitor's script: a tab that shows it, and in which nothing was changed, shows what it is now. */
export function followOtherTabs(): void {
  onScriptElsewhere(() => {
    if (embedded || edited || !opened || origin !== "own") return;
    const theirs = loadScript();
    if (theirs && !sameProgram(theirs, current())) openOwn(theirs);
  });
}
