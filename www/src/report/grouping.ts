// Values of a list by the line or the module that made them; layers that hold the same are one group.
import { placeInWords, shortPlace } from "./place";

export const GROUPINGS = ["none", "line", "module"] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** What is known of a value of a list. */
export interface Placed {
  name: string;
  /** Nothing for what takes no bytes of a tensor. */
  bytes: number | undefined;
  line: number | undefined;
  /** The file beside the script that it is a line of. */
  file?: string | undefined;
  /** As in `named_modules()`: `blocks.3.attn`. */
  module: string;
  /** Dtype and shape: layers are equal where these are. */
  type: string;
}

export interface Group<T> {
  key: string;
  title: string;
  /** Equal layers that it stands for. */
  times: number;
  bytes: number;
  items: T[];
}

/** `blocks.3.attn` is `blocks.*.attn`. */
const folded = (module: string): string => module.replace(/(?<=^|\.)\d+(?=\.|$)/g, "*");

/** Items by what `of` says of them, in the order in which that is first said. */
function gathered<T, K>(items: readonly T[], of: (item: T) => K): Map<K, T[]> {
  const found = new Map<K, T[]>();
  for (const item of items) {
    const members = found.get(of(item));
    if (members) members.push(item);
    else found.set(of(item), [item]);
  }
  return found;
}

const placeOf = ({ file }: Pick<Placed, "file">, line: number): { line: number; file?: string } => ({ line, ...(file === undefined ? {} : { file }) });

/** Its line as a cell shows it: nothing where it has none. */
export const lineText = (item: Pick<Placed, "line" | "file">): string => (item.line === undefined ? "" : shortPlace(placeOf(item, item.line)));

/** Groups in the order of their first values. */
export function grouped<T extends Placed>(items: readonly T[], by: Exclude<Grouping, "none">): Group<T>[] {
  const groups = new Map<string, Group<T>>();
  const put = (key: string, title: string, members: readonly T[]): void => {
    const bytes = members.reduce((sum, item) => sum + (item.bytes ?? 0), 0);
    const known = groups.get(key);
    if (known) Object.assign(known, { times: known.times + 1, bytes: known.bytes + bytes, items: [...known.items, ...members] });
    else groups.set(key, { key, title, times: 1, bytes, items: [...members] });
  };
  if (by === "line") {
    for (const [place, members] of gathered(items, (item) => (item.line === undefined ? undefined : placeInWords(placeOf(item, item.line))))) {
      put(String(place), place ?? "no line: inputs and sizes", members);
    }
    return [...groups.values()];
  }
  for (const [module, members] of gathered(items, (item) => item.module)) {
    const holds = members.map(({ type, bytes, line, file }) => `${type} ${bytes} ${line} ${file ?? ""}`).toSorted();
    put(`${folded(module)} ${holds.join("; ")}`, module === "" ? "no module" : module, members);
  }
  for (const group of groups.values()) {
    if (group.times > 1) group.title = folded(group.items[0]?.module ?? "");
  }
  return [...groups.values()];
}

/** Rows of cells as a Markdown table. */
export function markdown(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replace(/\s+/g, " ")).join(" | ")} |`;
  return [line(titles), line(titles.map(() => "---")), ...rows.map(line), ""].join("\n");
}
