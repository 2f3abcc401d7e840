// A link holds the program, the options that are not defaults and what is looked at, in the URL's fragment, which no server
// ever sees:
//
//     #v1/BASE64URL(DEFLATE(JSON))        JSON: {"p": program, "o": {option: value}}
//     #v2/BASE64URL(DEFLATE(JSON))        the same, and {"v": view, "s": selection}
//     #v3/BASE64URL(DEFLATE(JSON))        a log as .aotz files hold it, in the place of a program
//     #v4/BASE64URL(DEFLATE(JSON))        {"lesson": Markdown}, as docs/lessons.md says it
//     #v5/BASE64URL(DEFLATE(JSON))        as v2, and {"f": [[name, text], ...]}: files beside the program. Without any it is a v2
//
// The version comes first so that links stay readable for ever: a later form gets a later number and its own reader.
// `tests/links.ts` keeps links of every version.
import type { ScriptFile } from "../generated/report";
import { type Options, readOptions, withoutDefaults } from "./options";

/** A program and how it runs. */
export interface Shared {
  program: string;
  options: Options;
  /** Files beside it; left out where there are none. */
  files?: readonly ScriptFile[];
}

/** What is looked at. Words are those of the page that made the link: whoever goes there takes those it knows. */
export interface Place {
  /** Panes in front, by name. */
  panes?: readonly string[];
  /** Which compilation. */
  unit?: string;
  /** Which of its graphs. */
  stage?: string;
  /** How graphs are shown. */
  graphs?: string;
  /** Whether long lines of graphs are wrapped. */
  wrap?: boolean;
  /** Whether what comes from one line of the script is folded. */
  fold?: boolean;
  /** Groups of the picture that are closed or open, by path. */
  collapsed?: Readonly<Record<string, boolean>>;
  /** What views are turned to, as `keptLooks` gives it. */
  look?: Readonly<Record<string, unknown>>;
  /** What is chosen, as `keptSelection` gives it. */
  selection?: unknown;
}

/** What was found in an address. */
export type Link =
  | { kind: "none" }
  | { kind: "shared"; shared: Shared; place: Place; notes: string[] }
  /** A log: its name, and what an .aotz file of it holds. */
  | { kind: "log"; name: string; packed: Blob }
  /** A lesson, in Markdown. */
  | { kind: "lesson"; text: string }
  /** `reason` is a sentence for the visitor. */
  | { kind: "broken"; reason: string };

/** A program larger than this is not unpacked: a few bytes can claim to be gigabytes. */
export const LARGEST = 4 * 1024 * 1024;
/** More names than this are not taken from a link. */
const MOST_NAMES = 200;
/** Files that are taken from a link. */
const MOST_FILES = 500;
/** Of links to scripts, logs, lessons, and scripts with files beside them. */
const SCRIPT = 2;
const LOG = 3;
const LESSON = 4;
const FILES = 5;
const NEWEST = FILES;

/** The fragment for `shared`, looked at as `place` says, with its `#`. */
export async function encodeLink(shared: Shared, place: Place = {}): Promise<string> {
  const options = withoutDefaults(shared.options);
  const { selection, ...view } = place;
  const files = shared.files ?? [];
  const json = JSON.stringify({
    p: shared.program,
    ...(files.length > 0 ? { f: files.map(({ name, text }) => [name, text]) } : {}),
    ...(Object.keys(options).length > 0 ? { o: options } : {}),
    ...(Object.keys(view).length > 0 ? { v: view } : {}),
    ...(selection === undefined ? {} : { s: selection }),
  });
  const packed = new Blob([json]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return `#v${files.length > 0 ? FILES : SCRIPT}/${toBase64Url(await readAll(packed, Infinity))}`;
}

/** The fragment for a log, as the reader packs it. */
export async function encodeLog(packed: string): Promise<string> {
  const stream = new Blob([packed]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return `#v${LOG}/${toBase64Url(await readAll(stream, Infinity))}`;
}

/** Whether a fragment is a lesson's. */
export const isLesson = (fragment: string): boolean => fragment.startsWith(`#v${LESSON}/`);

/** The fragment for a lesson. */
export async function encodeLesson(text: string): Promise<string> {
  const stream = new Blob([JSON.stringify({ lesson: text })]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return `#v${LESSON}/${toBase64Url(await readAll(stream, Infinity))}`;
}

/** Reads a fragment, with or without its `#`. */
export async function decodeLink(fragment: string): Promise<Link> {
  const text = fragment.replace(/^#/, "");
  if (text === "") return { kind: "none" };
  const match = /^v(\d+)\/(.*)$/s.exec(text);
  if (!match) return { kind: "broken", reason: "What follows the # in this address was not made by this page." };
  const version = Number(match[1]);
  if (version > NEWEST) {
    return { kind: "broken", reason: `This link was made by a newer version of the page (v${version}); this one reads up to v${NEWEST}.` };
  }
  if (version < 1) return { kind: "broken", reason: `There never was a link of version v${version}.` };
  try {
    return await decode(match[2] ?? "", version);
  } catch {
    // Whatever else is wrong with it: what opens links goes on.
    return damaged("it cannot be read");
  }
}

function damaged(what: string): Link {
  return { kind: "broken", reason: `This link is damaged (${what}); perhaps a part was lost when it was copied.` };
}

async function decode(body: string, version: number): Promise<Link> {
  const packed = fromBase64Url(body);
  if (!packed) return damaged("it holds characters that no link holds");
  let json: string;
  try {
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    json = new TextDecoder("utf-8", { fatal: true }).decode(await readAll(unpacked, LARGEST));
  } catch (error) {
    return error instanceof TooLarge ? { kind: "broken", reason: "This link holds more than this page accepts." } : damaged("it cannot be unpacked");
  }
  let content: unknown;
  try {
    content = JSON.parse(json);
  } catch {
    return damaged("its content cannot be read");
  }
  if (version === LESSON) {
    const { lesson } = (content ?? {}) as { lesson?: unknown };
    return typeof lesson === "string" ? { kind: "lesson", text: lesson } : damaged("it holds no lesson");
  }
  if (version === LOG) {
    const { aotz, name } = (content ?? {}) as { aotz?: unknown; name?: unknown };
    if (typeof aotz !== "number" || typeof name !== "string") return damaged("it holds no log");
    // What opens files opens it: compressed, as they are.
    const packed = await readAll(new Blob([json]).stream().pipeThrough(new CompressionStream("gzip")), Infinity);
    return { kind: "log", name, packed: new Blob([packed]) };
  }
  if (typeof content !== "object" || content === null || typeof (content as { p?: unknown }).p !== "string") {
    return damaged("it holds no program");
  }
  const { p, o, v, s, f } = content as { p: string; o?: unknown; v?: unknown; s?: unknown; f?: unknown };
  const files = version >= FILES ? readFiles(f) : [];
  if (!files) return damaged("its files cannot be read");
  const { options, notes } = readOptions(o);
  return { kind: "shared", shared: { program: p, options, ...(files.length > 0 ? { files } : {}) }, place: version >= 2 ? readPlace(v, s) : {}, notes };
}

/** Files beside the program; nothing where they are not well formed. */
function readFiles(raw: unknown): ScriptFile[] | undefined {
  if (!Array.isArray(raw) || raw.length > MOST_FILES) return undefined;
  const files = (raw as unknown[]).flatMap((file) => (Array.isArray(file) && file.length === 2 && file.every((part) => typeof part === "string") ? [{ name: file[0] as string, text: file[1] as string }] : []));
  return files.length === raw.length && new Set(files.map(({ name }) => name)).size === files.length ? files : undefined;
}

/** What of a place is well formed; nothing else of it is taken. */
function readPlace(view: unknown, selection: unknown): Place {
  const place: Place = {};
  if (isObject(view)) {
    const { panes, wrap, fold, collapsed, look } = view;
    if (isNames(panes)) place.panes = panes;
    for (const key of ["unit", "stage", "graphs"] as const) {
      const word = view[key];
      if (typeof word === "string") place[key] = word;
    }
    if (typeof wrap === "boolean") place.wrap = wrap;
    if (typeof fold === "boolean") place.fold = fold;
    if (isObject(look)) place.look = look;
    if (isObject(collapsed) && Object.values(collapsed).every((value) => typeof value === "boolean")) {
      place.collapsed = Object.fromEntries(Object.entries(collapsed as Record<string, boolean>).slice(0, MOST_NAMES));
    }
  }
  if (isObject(selection)) place.selection = selection;
  return place;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= MOST_NAMES && value.every((name) => typeof name === "string");
}

class TooLarge extends Error {}

async function readAll(stream: ReadableStream<Uint8Array>, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    size += value.length;
    if (size > limit) {
      await reader.cancel();
      throw new TooLarge();
    }
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

function toBase64Url(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined;
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
}
