// What the browser keeps between visits. Storage may be full, forbidden or written by hand: nothing here throws.
import { type Options, readOptions, withoutDefaults } from "./options";
import type { Shared } from "./link";

const SCRIPT = "aot-playground/script";
const LAYOUT = "aot-playground/layout";

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
  const saved = read(SCRIPT) as { program?: unknown; options?: unknown } | null;
  return typeof saved?.program === "string" ? { program: saved.program, options: readOptions(saved.options).options } : undefined;
}

export function saveScript(program: string, options: Options): void {
  write(SCRIPT, { program, options: withoutDefaults(options) });
}

/** Sizes and open tabs, by the names the layout gives them. */
export function loadLayout(): Record<string, unknown> {
  const saved = read(LAYOUT);
  return typeof saved === "object" && saved !== null && !Array.isArray(saved) ? (saved as Record<string, unknown>) : {};
}

export function saveLayout(layout: Record<string, unknown>): void {
  write(LAYOUT, layout);
}
