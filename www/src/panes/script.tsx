// The script. Its editor lives outside: here it is put in place, and marked.
import { useComputed, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { showBreaks } from "../editor/breaks";
import { reveal, showLinked, showRaised } from "../editor/marks";
import { setWrapping } from "../editor/wrapping";
import { narrow } from "../state/layout";
import { editor } from "../state/script";
import { selection } from "../state/selection";
import { graphsRun, shown } from "../state/session";
import { LogSource } from "./log";

export function ScriptPane(): JSX.Element {
  return graphsRun.value?.log ? <LogSource /> : <Script />;
}

function Script(): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    host.current?.append(editor.dom);
    editor.requestMeasure();
  }, []);

  // The mark of an exception follows edits by itself; a new run brings a new one.
  const exception = useComputed(() => shown.value?.report.exception);
  useSignalEffect(() => showRaised(editor, exception.value?.span ?? undefined));

  // A narrow window has no room for long lines.
  useSignalEffect(() => setWrapping(editor, narrow.value));

  const breaks = useComputed(() => shown.value?.report.breaks);
  useSignalEffect(() => showBreaks(editor, breaks.value ?? []));

  useSignalEffect(() => {
    const chosen = selection.value;
    const span = chosen?.from === "script" ? undefined : chosen?.span;
    showLinked(editor, span ? range(Math.max(span.line, 1), Math.min(span.end_line, editor.state.doc.lines)) : []);
    if (span) reveal(editor, span.line);
  });

  return (
    <>
      <div class="editor" ref={host} />
      <p id="script-help" class="visually-hidden">
        Python. Control or Command and Enter runs the script. Escape, then Tab, leaves the editor.
      </p>
    </>
  );
}

function range(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
}
