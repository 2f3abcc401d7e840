// The lines of the program, as far as the graphs of a log hold them: in the place of the script, linked as the script is.
import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { select, selection, touches } from "../../state/selection";
import { selectedUnit } from "../../state/unit";
import type { GraphView } from "../../generated/report";
import "./log.css";

interface Known {
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

export function SourceView(): JSX.Element {
  const files = useComputed(() => knownLines(Object.values(selectedUnit.value?.stages ?? {})));
  const chosen = selection.value?.span;
  if (files.value.length === 0) return <p class="empty">Lines of the program appear here, as far as the graphs of the log name them.</p>;
  return (
    <div class="scroll log-source" tabIndex={0} role="region" aria-label="Lines of the program">
      <p class="caption">Lines that made the graphs, as the log has them.</p>
      {files.value.map(({ file, lines }) => (
        <table key={file} class="table">
          <caption class="code">
            <bdi>{file}</bdi>
          </caption>
          <tbody>
            {lines.map(({ line, code }) => (
              <tr key={line} class={touches(chosen, line, line) ? "chosen" : ""} onClick={() => go(line)}>
                <th scope="row" class="number">
                  <button type="button" class="link code" aria-label={`Line ${line}`} onClick={() => go(line)}>
                    {line}
                  </button>
                </th>
                <td class="code wrap">{code}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ))}
    </div>
  );
}

function go(line: number): void {
  select({ from: "script", span: { line, column: 0, end_line: line, end_column: 0 }, names: [] });
}
