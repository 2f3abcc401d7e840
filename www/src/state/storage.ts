// What the browser keeps between visits. Storage may be full, forbidden, written by hand or by another tab: nothing here throws,
// and nothing of the visitor's is written over that this tab has not seen.
import { signal } from "@preact/signals";
import type { ScriptFile } from "../generated/report";
import { readOptions, withoutDefaults } from "./options";
import type { Shared } from "./link";

const SCRIPT = "aot-playground/script";
const DRAFTS = "aot-playground/drafts";
const LAYOUT = "aot-playground/layout";
/** `src/theme.js` reads it, too. */
const THEME = "aot-playground/theme";
/** Scripts that are kept beside the current one, newest first. */
const MOST_DRAFTS = 20;

/** Whether the visitor's script could not be kept when it was last to be. */
export const keepsNothing = signal(false);

/** What is kept of a script in a form that this version of the page can't read: another version, or another hand, wrote it. */
export const unread = signal<string | undefined>(undefined);

/** The kept script as this tab last read or wrote it. */
let seen: string | null = null;

function readText(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function parsed(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null;
  }
}

/** Says whether it is kept now. */
function write(key: string, text: string): boolean {
  try {
    localStorage.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

/** The visitor's own script, as it was last. */
export function loadScript(): Shared | undefined {
  seen = readText(SCRIPT);
  const script = readShared(parsed(seen));
  if (seen !== null && !script) unread.value = seen;
  return script;
}

function readShared(saved: unknown): Shared | undefined {
  const { program, options, files } = (saved ?? {}) as { program?: unknown; options?: unknown; files?: unknown };
  if (typeof program !== "string" || (files !== undefined && !isFiles(files))) return undefined;
  return { program, options: readOptions(options).options, ...(files ? { files } : {}) };
}

function isFiles(files: unknown): files is ScriptFile[] {
  const isFile = (file: unknown): boolean => typeof (file as ScriptFile | null)?.name === "string" && typeof (file as ScriptFile).text === "string";
  return Array.isArray(files) && files.every(isFile);
}

function textOf({ program, options, files }: Shared): string {
  return JSON.stringify({ program, options: withoutDefaults(options), ...(files && files.length > 0 ? { files } : {}) });
}

/**
 * Keeps the visitor's script, and says whether it could. What another tab has kept since is put aside before; so is what this version of
 * the page can't read.
 */
export function saveScript(shared: Shared): boolean {
  const text = textOf(shared);
  const there = readText(SCRIPT);
  if (there !== null && there !== text) {
    const theirs = readShared(parsed(there));
    if (theirs && there !== seen) addDraft(theirs);
    if (!theirs) putUnreadAside(SCRIPT, there);
  }
  const kept = write(SCRIPT, text);
  if (kept) seen = text;
  keepsNothing.value = !kept;
  return kept;
}

function putUnreadAside(key: string, text: string): void {
  unread.value = text;
  write(`${key}/unread`, text);
}

/** Calls `changed` when another tab has kept another script. */
export function onScriptElsewhere(changed: () => void): void {
  window.addEventListener("storage", (event) => {
    if (event.key === SCRIPT && event.newValue !== null) changed();
  });
}

/** Scripts of the visitor's that something else has taken the place of, newest first. */
export function loadDrafts(): Shared[] {
  const saved = parsed(readText(DRAFTS));
  return Array.isArray(saved) ? saved.flatMap((draft) => readShared(draft) ?? []) : [];
}

/** Keeps a script beside the others; the oldest goes where there are too many, or no room for it. */
export function addDraft(shared: Shared): void {
  const { program, files } = shared;
  if (program.trim() === "" && !files) return;
  const there = readText(DRAFTS);
  if (there !== null && !Array.isArray(parsed(there))) putUnreadAside(DRAFTS, there);
  const others = loadDrafts().filter((draft) => draft.program !== program || JSON.stringify(draft.files) !== JSON.stringify(files));
  const all = [shared, ...others].slice(0, MOST_DRAFTS);
  for (let most = all.length; most > 0; most = Math.floor(most / 2)) {
    if (write(DRAFTS, `[${all.slice(0, most).map(textOf).join(",")}]`)) return;
  }
  keepsNothing.value = true;
}

/** Sizes and open tabs, by the names the layout gives them. */
export function loadLayout(): Record<string, unknown> {
  const saved = parsed(readText(LAYOUT));
  return typeof saved === "object" && saved !== null && !Array.isArray(saved) ? (saved as Record<string, unknown>) : {};
}

/** Keeps the theme that the visitor chose. */
export function saveTheme(theme: string): void {
  write(THEME, theme);
}

/** Calls `changed` when another tab has kept another theme. */
export function onThemeElsewhere(changed: (theme: string | null) => void): void {
  window.addEventListener("storage", (event) => {
    if (event.key === THEME) changed(event.newValue);
  });
}

/** Keeps them; where it can't, nothing is lost but the convenience. */
export function saveLayout(layout: Record<string, unknown>): void {
  write(LAYOUT, JSON.stringify(layout));
}
