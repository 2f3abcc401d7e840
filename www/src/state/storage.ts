// What the browser keeps between visits. Storage may be full, forbidden or written by hand: nothing here throws.
import { type Options, readOptions, withoutDefaults } from "./options";
import type { Shared } from "./link";

const SCRIPT = "aot-playground/script";
const DRAFTS = "aot-playground/drafts";
const LAYOUT = "aot-playground/layout";
/** Scripts that are kept beside the current one, newest first. */
const MOST_DRAFTS = 20;

function read(key: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

function write(key: string, value: unknown): void {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Nothing is lost but the convenience.
  }
}

/** The visitor's own script, as it was last. */
export function loadScript(): Shared | undefined {
  return readShared(read(SCRIPT));
}

function readShared(saved: unknown): Shared | undefined {
  const { program, options } = (saved ?? {}) as { program?: unknown; options?: unknown };
  return typeof program === "string" ? { program, options: readOptions(options).options } : undefined;
}

export function saveScript(program: string, options: Options): void {
  write(SCRIPT, { program, options: withoutDefaults(options) });
}

/** Scripts of the visitor's that something else has taken the place of, newest first. */
export function loadDrafts(): Shared[] {
  const saved = read(DRAFTS);
  return Array.isArray(saved) ? saved.flatMap((draft) => readShared(draft) ?? []) : [];
}

/** Keeps a script beside the others; the oldest goes where there are too many. */
export function addDraft({ program, options }: Shared): void {
  if (program.trim() === "") return;
  const others = loadDrafts().filter((draft) => draft.program !== program);
  const all = [{ program, options }, ...others].slice(0, MOST_DRAFTS);
  write(
    DRAFTS,
    all.map((draft) => ({ program: draft.program, options: withoutDefaults(draft.options) })),
  );
}

/** Sizes and open tabs, by the names the layout gives them. */
export function loadLayout(): Record<string, unknown> {
  const saved = read(LAYOUT);
  return typeof saved === "object" && saved !== null && !Array.isArray(saved) ? (saved as Record<string, unknown>) : {};
}

export function saveLayout(layout: Record<string, unknown>): void {
  write(LAYOUT, layout);
}
