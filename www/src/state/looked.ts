// What views are turned to: the tab of a view, the series of a chart, sizes that were typed. A link holds all of it under `look`, by name.
//
// A view registers each such thing where it stands. Most views are fetched when they are first opened: what a link says of those
// waits here, and is checked by the view itself. What a view no longer knows is left out.
import { type Signal, signal } from "@preact/signals";

interface Looked {
  signal: Signal<unknown>;
  initial: unknown;
  read(raw: unknown): unknown;
}

/** Characters that all of it may take in a link. */
const MOST = 20_000;

const known = new Map<string, Looked>();
let waiting = new Map<string, unknown>();

/** A signal that links hold as `name`. `read` gives the value of what a link says, or `undefined` where it says nothing that is known. */
export function looked<T>(name: string, initial: T, read: (raw: unknown) => T | undefined): Signal<T> {
  const raw = waiting.get(name);
  waiting.delete(name);
  const made = signal<T>(raw === undefined ? initial : (read(raw) ?? initial));
  known.set(name, { signal: made as Signal<unknown>, initial, read });
  return made;
}

/** Everything that is not as it is at first, as plain data. */
export function keptLooks(): Record<string, unknown> {
  const kept: Record<string, unknown> = Object.fromEntries(waiting);
  for (const [name, { signal: now, initial }] of known) {
    if (now.value !== undefined && JSON.stringify(now.value) !== JSON.stringify(initial)) kept[name] = now.value;
  }
  return JSON.stringify(kept).length > MOST ? {} : kept;
}

/** Turns all views to what `keptLooks` gave once; those it does not name are as at first. */
export function bringLooks(raw: Readonly<Record<string, unknown>>): void {
  waiting = new Map(Object.entries(raw).filter(([name]) => !known.has(name)));
  for (const [name, { signal: now, initial, read }] of known) {
    now.value = Object.hasOwn(raw, name) ? (read(raw[name]) ?? initial) : initial;
  }
}

/** Readers of what links say. */
export const oneOf =
  <T extends string>(names: readonly T[]) =>
  (raw: unknown): T | undefined =>
    names.find((name) => name === raw);
export const number = (least: number, most: number) => (raw: unknown): number | undefined =>
  typeof raw === "number" && raw >= least && raw <= most ? raw : undefined;
export const flag = (raw: unknown): boolean | undefined => (typeof raw === "boolean" ? raw : undefined);
/** A name that a script may have chosen. */
export const word = (raw: unknown): string | undefined => (typeof raw === "string" && raw.length <= 500 ? raw : undefined);
/** Words by words. */
export function words(raw: unknown): Readonly<Record<string, string>> | undefined {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return undefined;
  const entries = Object.entries(raw).filter((entry): entry is [string, string] => word(entry[1]) !== undefined);
  return Object.fromEntries(entries.slice(0, 200));
}
