// The lines of the program, as far as the graphs of a log hold them, or a script that was given beside the log: in the place of the script,
// linked as the script is.
import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { linkedSources, openSource } from "../../state/linked";
import { select, selection, touches } from "../../state/selection";
import { still } from "../../state/still";
import { selectedUnit } from "../../state/unit";
import { LinkedSource } from "./linked";
import { knownLines } from "../../report/source-lines";
import "./log.css";

export function SourceView(): JSX.Element {
  const files = useComputed(() => knownLines(Object.values(selectedUnit.value?.stages ?? {})));
  const chosen = selection.value?.span;
  const sources = linkedSources.value;
  const source = sources.find(({ file }) => file === openSource.value) ?? sources[0];
  if (source) return <LinkedSource key={source.file} source={source} lines={files.value.find(({ file }) => file === source.file)?.lines ?? []} />;
  if (files.value.length === 0) return <p class="empty">Lines of the program appear here, as far as the graphs of the log name them.</p>;
  return (
    <div class="scroll log-source" tabIndex={0} role="region" aria-label="Lines of the program">
      <p class="caption">Lines that made the graphs, as the log has them.{!still && " Drop the script on the page to see all of it here."}</p>
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
