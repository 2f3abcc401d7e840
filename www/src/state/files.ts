// Files that the visitor opens, drops on the page or pastes: scripts, files beside them, and logs of PyTorch.
import { signal } from "@preact/signals";
import { insertText } from "../editor/script";
import { plural } from "../report/format";
import { isPacked, looksLikeLog } from "../report/recognize";
import type { LogOverview, ScriptFile } from "../generated/report";
import { forgetAddress, notice } from "./address";
import type { KeptFile } from "./log-store";
import { look, openLog, sentence } from "./logs";
import { beginLesson } from "./lesson";
import { linkedSources, linkSource, unlinkSource } from "./linked";
import { options } from "./options";
import { addModules, MOST_CHARACTERS, refusal, SCRIPT } from "./modules";
import { adopt, current, editor, modulesChanged, onPaste, sameProgram } from "./script";
import { loadScript } from "./storage";
import { zipped } from "./zip";

/** A file larger than this is no script. */
const LARGEST = 1024 * 1024;
/** Files of one log; a folder may hold anything. */
const MOST_FILES = 20_000;

/** Whether a file is held over the page. */
export const dropping = signal(false);

/** A file with the folders that it came in. */
export interface Found {
  name: string;
  file: File;
}

/** Opens files: one script, or what PyTorch wrote. What was shown before is kept. */
export async function openFiles(files: readonly Found[]): Promise<void> {
  const [first] = files;
  if (!first) return;
  const python = await pythonFiles(files).catch((error: unknown) => {
    notice.value = { tone: "error", lines: [`${first.name}: ${error instanceof Error ? error.message : String(error)}.`, "Your script is as it was."] };
    return [];
  });
  if (python?.length && linked(python)) return;
  if (python) return addFiles(python);
  if (files.length === 1 && !(await isLog(first))) return openFile(first.file);
  const folder = first.name.includes("/") ? first.name.split("/")[0] : undefined;
  const name = files.length === 1 ? first.name : (folder ?? `${first.name} and ${files.length - 1} more`);
  await openAsLog(
    name,
    files.slice(0, MOST_FILES).map(({ name, file }) => ({ name, blob: file })),
  );
}

/** Whether a file is for the reader: what it is by its name, or by its first bytes. */
async function isLog({ name, file }: Found): Promise<boolean> {
  const start = new Uint8Array(await file.slice(0, LARGEST).arrayBuffer().catch(() => new ArrayBuffer(0)));
  if (isPacked(start)) return true;
  if (start.includes(0)) return false;
  const text = new TextDecoder().decode(start);
  if (looksLikeLog(text)) return true;
  // Whatever is too large for a script, and says that it is no script.
  return /\.(?:log|json|jsonl)$/.test(name) || (file.size > LARGEST && !name.endsWith(".py"));
}

async function openAsLog(name: string, files: readonly KeptFile[]): Promise<void> {
  try {
    await openLog(name, files);
    notice.value = undefined;
  } catch (error) {
    notice.value = { tone: "error", lines: [`${sentence(error)}.`.replace(/\.\.$/, "."), "What was shown is as it was."] };
  }
}

/** The files that a script may import, by their names beside it, of those that were opened: of several, of a folder, or of an archive.
 * Nothing where it is one script, or what PyTorch wrote. */
async function pythonFiles(files: readonly Found[]): Promise<ScriptFile[] | undefined> {
  const isWheel = (name: string): boolean => name.endsWith(".whl");
  const isArchive = (name: string): boolean => isWheel(name) || name.endsWith(".zip");
  const [first] = files;
  if (!first || (files.length === 1 && !isArchive(first.name) && !first.name.includes("/"))) return undefined;
  // A folder of PyTorch's has files of Python, too.
  if (files.some(({ name }) => /\.(?:log|jsonl?|html)$/.test(name))) return undefined;
  const found: ScriptFile[] = [];
  let left = MOST_CHARACTERS;
  const take = (name: string, bytes: Uint8Array<ArrayBuffer>): void => {
    left -= bytes.length;
    if (left < 0) throw new Error(`its Python files hold more than ${MOST_CHARACTERS / 1024 / 1024} MB`);
    found.push({ name, text: decoded(name, bytes) });
  };
  for (const { name, file } of files.slice(0, MOST_FILES)) {
    if (isArchive(name)) {
      const entries = await zipped(file);
      const python = entries.filter((entry) => entry.name.endsWith(".py"));
      if (!isWheel(name) && (python.length === 0 || entries.some((entry) => /\.(?:log|jsonl?|html)$/.test(entry.name)))) return undefined;
      const names = withoutFolder(python.map((entry) => entry.name));
      for (const [at, entry] of python.entries()) take(names[at]!, await entry.read(left));
    } else if (name.endsWith(".py")) take(name, new Uint8Array(await file.slice(0, left + 1).arrayBuffer()));
  }
  if (found.some(({ text }) => looksLikeLog(text))) return undefined;
  const names = withoutFolder(found.map(({ name }) => name));
  return found.length > 0 ? found.map(({ text }, at) => ({ name: names[at]!, text })) : undefined;
}

function decoded(name: string, bytes: Uint8Array<ArrayBuffer>): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replaceAll("\r\n", "\n");
  } catch {
    throw new Error(`${name} is not a text in UTF-8`);
  }
}

/** Names below the folder that all are in, unless that is a package. */
export function withoutFolder(names: readonly string[]): string[] {
  const folder = names[0]?.split("/")[0];
  const inIt = `${folder}/`;
  if (!names.every((name) => name.startsWith(inIt)) || names.includes(`${inIt}__init__.py`)) return [...names];
  return names.map((name) => name.slice(inIt.length));
}

/** Adds files beside the script; one that is called as the script takes its place. */
function addFiles(files: readonly ScriptFile[]): void {
  const script = files.find(({ name }) => name === SCRIPT);
  const beside = files.filter(({ name }) => name !== SCRIPT);
  if (files.length === 0) return;
  const problem = refusal(beside);
  if (problem) {
    notice.value = { tone: "error", lines: [problem, "Your script is as it was."] };
    return;
  }
  const before = current();
  if (script) {
    forgetAddress();
    adopt({ ...before, program: script.text });
  }
  addModules(beside);
  modulesChanged();
  const said = beside.length === 1 ? `${beside[0]!.name} is beside the script, which can import it.` : `${plural(beside.length, "file")} are beside the script, which can import them.`;
  notice.value = { tone: "info", lines: [said], restore: before };
}

/** Links files with the log that is shown, as far as they are its program's; whether any is. */
function linked(files: readonly ScriptFile[]): boolean {
  const fits = files.flatMap(({ name, text }) => linkSource(name, text) ?? []);
  const [first] = fits;
  if (!first) return false;
  const other = fits.reduce((sum, fit) => sum + fit.other, 0);
  const said = fits.length === 1 ? `${first.file.split(/[\\/]/).at(-1)} is linked with the log: the lines that made nodes are marked in it.` : `${plural(fits.length, "file")} are linked with the log: the lines that made nodes are marked in them.`;
  const differs = other > 0 ? [`${plural(other, "line")} ${other === 1 ? "is" : "are"} not as the log has ${other === 1 ? "it" : "them"}: another version, perhaps.`] : [];
  const [only] = files;
  const open = { label: files.length === 1 ? "Open as my script instead" : "Add beside my script instead", take: (): void => (files.length === 1 && only ? openInstead(only) : addFiles(files)) };
  notice.value = { tone: "info", lines: [said, ...differs], offers: [open] };
  return true;
}

/** Opens a script that was linked with a log as the visitor's own after all. */
function openInstead({ name, text }: ScriptFile): void {
  for (const { file } of linkedSources.peek()) unlinkSource(file);
  forgetAddress();
  adopt({ program: text, options: options.value });
  notice.value = { tone: "info", lines: [`${name} is open.`] };
}

/** Opens a file as the visitor's own script; the one before is offered, and kept. */
async function openFile(file: File): Promise<void> {
  const refuse = (why: string): void => {
    notice.value = { tone: "error", lines: [`${file.name} ${why}`, "Your script is as it was."] };
  };
  if (file.size > LARGEST) return refuse("is too large for a script.");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    return refuse("is not a text in UTF-8.");
  }
  if (text.includes("\0")) return refuse("is not a text.");
  if (/\.(md|markdown)$/i.test(file.name)) {
    if (!beginLesson(text)) refuse("is no lesson: a lesson begins with a heading, and its steps with headings below that.");
    return;
  }
  const before = current();
  const own = loadScript();
  if (file.name.endsWith(".py") && linked([{ name: file.name, text: text.replaceAll("\r\n", "\n") }])) return;
  forgetAddress();
  const opened = text.replaceAll("\r\n", "\n");
  adopt({ program: opened, options: options.value });
  const restore = own && sameProgram(own, before) && before.program !== text ? own : undefined;
  const beside = {
    label: "Add it beside my script instead",
    take: (): void => {
      adopt(before);
      addFiles([{ name: file.name, text: opened }]);
    },
  };
  const offers = restore && file.name.endsWith(".py") && file.name !== SCRIPT ? { offers: [beside] } : {};
  notice.value = restore ? { tone: "info", lines: [`${file.name} is open.`], restore, ...offers } : undefined;
}

/** How many graphs there are to open. */
export function graphsOf({ compilations, regions, compiled_autograd }: LogOverview): number {
  return compilations.reduce((sum, { stages }) => sum + stages.length, 0) + regions.length + compiled_autograd.length;
}

/** Recognizes pasted logs: whether to open them is the visitor's to say, and the script stays as it is. */
export function recognizePastes(): void {
  onPaste((text) => {
    if (!looksLikeLog(text)) return false;
    const files = [{ name: "pasted text", blob: new Blob([text]) }];
    const insert = (): void => {
      notice.value = undefined;
      insertText(editor, text);
    };
    look(files).then((overview) => {
      const count = graphsOf(overview);
      if (count === 0) return insert();
      const name = `pasted at ${new Date().toLocaleTimeString()}`;
      notice.value = {
        tone: "info",
        lines: ["What you pasted is a log of PyTorch, not a script. Your script is as it was."],
        offers: [
          { label: `Open ${plural(count, "graph")} of this log`, take: () => void openAsLog(name, files) },
          { label: "Insert it as text", take: insert },
        ],
      };
    }, insert);
    return true;
  });
}

/** Lets files and folders be dropped anywhere on the page. */
export function acceptDrops(): void {
  const carries = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  let depth = 0;
  const over = (change: number): void => {
    depth = Math.max(0, depth + change);
    dropping.value = depth > 0;
  };
  window.addEventListener("dragenter", (event) => carries(event) && over(1));
  window.addEventListener("dragleave", (event) => carries(event) && over(-1));
  window.addEventListener("dragover", (event) => carries(event) && event.preventDefault());
  // Before the editor, which would insert the text.
  window.addEventListener(
    "drop",
    (event) => {
      if (!carries(event) || !event.dataTransfer) return;
      event.preventDefault();
      event.stopPropagation();
      over(-depth);
      void found(event.dataTransfer).then(openFiles);
    },
    { capture: true },
  );
}

/** What was let go of; folders with all that is in them. */
async function found(data: DataTransfer): Promise<Found[]> {
  // The event's data is gone once anything is waited for.
  const plain = [...data.files];
  const entries = [...data.items].flatMap((item) => (item.kind === "file" ? (item.webkitGetAsEntry?.() ?? []) : []));
  if (!entries.some((entry) => entry.isDirectory)) return plain.map((file) => ({ name: file.name, file }));
  const all: Found[] = [];
  for (const entry of entries) await walk(entry, all);
  return all;
}

async function walk(entry: FileSystemEntry, into: Found[]): Promise<void> {
  if (into.length >= MOST_FILES) return;
  if (entry.isFile) {
    const file = await new Promise<File | undefined>((resolve) => (entry as FileSystemFileEntry).file(resolve, () => resolve(undefined)));
    if (file) into.push({ name: entry.fullPath.replace(/^\//, ""), file });
    return;
  }
  const directory = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // A folder is told in parts.
    const part = await new Promise<FileSystemEntry[]>((resolve) => directory.readEntries(resolve, () => resolve([])));
    if (part.length === 0) return;
    for (const child of part) await walk(child, into);
  }
}
