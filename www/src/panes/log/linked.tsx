// A script that was given beside a log: the lines that made graphs are marked, and chosen with the nodes that they made.
import { useSignalEffect } from "@preact/signals";
import type { EditorView } from "@codemirror/view";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { reveal, showLinked } from "../../editor/marks";
import { createSource } from "../../editor/source";
import { type LinkedSource as Source, linkedSources, openSource, unlinkSource } from "../../state/linked";
import { select, selection } from "../../state/selection";
import { still } from "../../state/still";
import type { Known } from "../../report/source-lines";

export function LinkedSource({ source: { file, text }, lines }: { source: Source; lines: Known["lines"] }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  const made = lines.map(({ line }) => line);
  const marked = made.join(" ");
  useEffect(() => {
    const onLines = (first: number, last: number): void => select({ from: "script", span: { line: first, column: 0, end_line: last, end_column: 0 }, names: [] });
    const created = createSource(text, `Script ${file}`, made, onLines);
    view.current = created;
    host.current?.append(created.dom);
    return () => {
      view.current = undefined;
      created.destroy();
    };
  }, [text, marked]);
  useSignalEffect(() => {
    const chosen = selection.value;
    const now = view.current;
    if (!now) return;
    const span = chosen?.from === "script" ? undefined : chosen?.span;
    // Of a program of several files, only lines that are this one's.
    const here = span && made.includes(span.line) ? span.line : undefined;
    showLinked(now, here === undefined ? [] : [here]);
    if (here !== undefined) reveal(now, here);
  });
  const sources = linkedSources.value;
  return (
    <div class="script-pane">
      <div class="log-linked">
        {sources.length > 1 ? (
          <select class="select" aria-label="File" value={file} onChange={({ currentTarget }) => (openSource.value = currentTarget.value)}>
            {sources.map((source) => (
              <option key={source.file} value={source.file}>
                {source.file}
              </option>
            ))}
          </select>
        ) : (
          <span class="code">
            <bdi>{file}</bdi>
          </span>
        )}
        {!still && (
          <button type="button" class="button small" title="Shows the lines that the log holds instead" onClick={() => unlinkSource(file)}>
            Unlink
          </button>
        )}
      </div>
      <div class="editor" ref={host} />
    </div>
  );
}
