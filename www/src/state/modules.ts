// Files beside the script, which it may import: their tabs, and their editors. The script itself is the first tab, and is what runs.
import { signal } from "@preact/signals";
import type { EditorView } from "@codemirror/view";
import { createScriptEditor, setText } from "../editor/script";
import type { ScriptFile } from "../generated/report";
import { embedded } from "./embedded";
import { select } from "./selection";

export interface Module {
  id: number;
  /** With folders: `model/layers.py`. */
  name: string;
  /** Its text, while it has no editor. */
  text: string;
  /** Made when it is first shown: a wheel may hold hundreds. */
  editor?: EditorView;
}

/** What the script is called. */
export const SCRIPT = "script.py";
/** What all files together may hold, in characters. */
export const MOST_CHARACTERS = 4 * 1024 * 1024;
export const MOST_MODULES = 500;

export const modules = signal<readonly Module[]>([]);
/** The tab that is open: a file, or the script. */
export const openId = signal<number | undefined>(undefined);

/** The file that is being given a name. */
export const namedId = signal<number | undefined>(undefined);

let last = 0;
let told: { edit(): void; pause(): void; run(): void; paste(text: string): boolean } | undefined;

/** Takes what hears of edits. */
export function onModules(listener: NonNullable<typeof told>): void {
  told = listener;
}

export const textOf = ({ editor, text }: Module): string => editor?.state.doc.toString() ?? text;

/** The files, as they are now. */
export function scriptFiles(): ScriptFile[] {
  return modules.value.map((module) => ({ name: module.name, text: textOf(module) }));
}

/** Whether two programs have the same files beside them. */
export function sameFiles(a: readonly ScriptFile[] = [], b: readonly ScriptFile[] = []): boolean {
  return a.length === b.length && a.every(({ name, text }, at) => b[at]?.name === name && b[at].text === text);
}

/** The editor of a file. */
export function editorOf(module: Module): EditorView {
  if (module.editor) return module.editor;
  const { id } = module;
  const now = (): Module | undefined => modules.peek().find((other) => other.id === id);
  const editor = createScriptEditor({
    label: `File ${module.name}`,
    readOnly: embedded,
    onEdit: () => told?.edit(),
    onPause: () => told?.pause(),
    onRun: () => told?.run(),
    onPaste: (text) => told?.paste(text) ?? false,
    onLines: (first, end) => {
      const file = now()?.name;
      if (file !== undefined) select({ from: "script", span: { line: first, column: 0, end_line: end, end_column: 0, file }, names: [] });
    },
  });
  setText(editor, module.text);
  module.editor = editor;
  return editor;
}

/** Takes the place of all files that there are. */
export function setModules(files: readonly ScriptFile[] = []): void {
  if (sameFiles(files, scriptFiles())) return;
  for (const { editor } of modules.value) editor?.destroy();
  modules.value = files.map(({ name, text }) => ({ id: (last += 1), name, text }));
  openId.value = undefined;
}

/** Why files cannot be added: a sentence; nothing where they can. */
export function refusal(files: readonly ScriptFile[]): string | undefined {
  const names = new Set(files.map(({ name }) => name));
  const kept = scriptFiles().filter(({ name }) => !names.has(name));
  if (kept.length + files.length > MOST_MODULES) return `More than ${MOST_MODULES} files are too many.`;
  const characters = [...kept, ...files].reduce((sum, { text }) => sum + text.length, 0);
  return characters > MOST_CHARACTERS ? `All files together may hold ${MOST_CHARACTERS / 1024 / 1024} million characters.` : undefined;
}

/** Adds files; one of the same name is replaced. */
export function addModules(files: readonly ScriptFile[]): void {
  const next = [...modules.value];
  for (const { name, text } of files) {
    const there = next.find((module) => module.name === name);
    if (!there) next.push({ id: (last += 1), name, text });
    else if (there.editor) setText(there.editor, text);
    else there.text = text;
  }
  modules.value = next;
}

/** Adds an empty file, to be given a name, and opens it. */
export function newModule(): Module {
  const taken = new Set(modules.value.map(({ name }) => name));
  let name = "module.py";
  for (let number = 2; taken.has(name); number += 1) name = `module${number}.py`;
  const made = { id: (last += 1), name, text: "" };
  modules.value = [...modules.value, made];
  openId.value = made.id;
  namedId.value = made.id;
  return made;
}

/** What is wrong with a name: a sentence; nothing where it is fine. */
export function nameProblem(name: string, id?: number): string | undefined {
  if (!/^[^\s/\\"'\p{Cc}]+(?:\/[^\s/\\"'\p{Cc}]+)*\.py$/u.test(name) || name.split("/").some((part) => part === "." || part === "..")) return "A name ends with .py, perhaps after folders: model/layers.py.";
  if (name === SCRIPT) return `${SCRIPT} is the script.`;
  if (modules.value.some((module) => module.name === name && module.id !== id)) return `There is a file ${name} already.`;
  return undefined;
}

/** Renames a file; says what is wrong with the name, if anything. */
export function renameModule(id: number, name: string): string | undefined {
  const problem = nameProblem(name, id);
  if (problem) return problem;
  const before = modules.value.find((module) => module.id === id);
  if (!before || before.name === name) return undefined;
  // Its editor has the name in its label.
  const text = textOf(before);
  before.editor?.destroy();
  modules.value = modules.value.map((module) => (module.id === id ? { id, name, text } : module));
  return undefined;
}

/** Closes a file; gives what brings it back. */
export function closeModule(id: number): (() => void) | undefined {
  const at = modules.value.findIndex((module) => module.id === id);
  const module = modules.value[at];
  if (!module) return undefined;
  const file = { id, name: module.name, text: textOf(module) };
  modules.value = modules.value.toSpliced(at, 1);
  module.editor?.destroy();
  if (openId.value === id) openId.value = modules.value[Math.min(at, modules.value.length - 1)]?.id;
  return () => {
    if (!modules.value.some(({ name }) => name === file.name)) modules.value = modules.value.toSpliced(at, 0, file);
    openId.value = modules.value.find(({ name }) => name === file.name)?.id;
  };
}

/** Brings the tab of a file to the front, where there is one: of the script, without a name. Whether there is. */
export function showFile(file: string | undefined): boolean {
  const found = file === undefined ? undefined : modules.value.find(({ name }) => name === file);
  if (file !== undefined && !found) return false;
  openId.value = found?.id;
  return true;
}
