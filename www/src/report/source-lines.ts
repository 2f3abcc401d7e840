// The lines of a program, as far as the graphs of a log hold them; and which file of it a script is that is given beside the log.
import type { GraphView } from "../generated/report";

export interface Known {
  file: string;
  lines: { line: number; code: string }[];
}

/** `# File: /home/user/project/a.py:7 in f, code: return x * 2` */
const COMMENT = /^\s*# File: (.+):(\d+) in [^,]*, code: ?(.*)$/;

/** What the comments of graphs say, by file, in order. */
export function knownLines(graphs: readonly GraphView[]): Known[] {
  const files = new Map<string, Map<number, string>>();
  for (const { readable } of graphs) {
    for (const text of readable.split("\n")) {
      const match = text.includes("# File: ") ? COMMENT.exec(text) : null;
      if (!match?.[1]) continue;
      const lines = files.get(match[1]) ?? new Map<number, string>();
      files.set(match[1], lines.set(Number(match[2]), match[3] ?? ""));
    }
  }
  const inOrder = (lines: Map<number, string>): Known["lines"] => [...lines].map(([line, code]) => ({ line, code })).toSorted((a, b) => a.line - b.line);
  return [...files].map(([file, lines]) => ({ file, lines: inOrder(lines) }));
}

/** How far a text is a file that a log knows lines of. */
export interface Fit {
  file: string;
  /** Lines of the log that stand in the text as the log has them. */
  same: number;
  /** Lines of the log that don't: of another version, perhaps. */
  other: number;
}

const baseName = (path: string): string => path.split(/[\\/]/).at(-1) ?? path;

/** Which file of a log a text is: the one of its name, else the one whose lines stand in it; of those, the one with most of them. */
export function fitOf(name: string, text: string, known: readonly Known[]): Fit | undefined {
  const lines = text.split("\n").map((line) => line.trim());
  const fits = known.map(({ file, lines: of }): Fit & { named: boolean } => {
    // Of a log that was cut, the code is not there.
    const said = of.filter(({ code }) => code.trim() !== "");
    const same = said.filter(({ line, code }) => lines[line - 1] === code.trim()).length;
    return { file, same, other: said.length - same, named: baseName(file) === baseName(name) };
  });
  const likely = fits.filter(({ same, other, named }) => named || (same > 0 && same >= other)).toSorted((a, b) => Number(b.named) - Number(a.named) || b.same - a.same);
  const [best] = likely;
  return best && { file: best.file, same: best.same, other: best.other };
}
