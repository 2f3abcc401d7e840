// The script, and the files beside it, a tab each. Their editors live outside: here they are put in place, and marked.
import { useComputed, useSignalEffect } from "@preact/signals";
import type { EditorView } from "@codemirror/view";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { showBreaks } from "../editor/breaks";
import { reveal, showLinked, showRaised } from "../editor/marks";
import { setWrapping } from "../editor/wrapping";
import { narrow } from "../state/layout";
import { editorOf, modules, openId, showFile } from "../state/modules";
import { editor } from "../state/script";
import { selection } from "../state/selection";
import { graphsRun, shown } from "../state/session";
import { ModuleTabs } from "./script-tabs";
import { LogSource } from "./log";

export function ScriptPane(): JSX.Element {
  return graphsRun.value?.log ? <LogSource /> : <Script />;
}

function Script(): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const open = useComputed(() => modules.value.find(({ id }) => id === openId.value));
  const hasTabs = modules.value.length > 0;

  // A choice elsewhere brings its file to the front.
  useSignalEffect(() => {
    const chosen = selection.value;
    if (chosen?.span && chosen.from !== "script") showFile(chosen.span.file);
  });

  // After the files that there are, and the run, are what they are.
  useSignalEffect(() => {
    const module = open.value;
    const view = module ? editorOf(module) : editor;
    if (host.current && view.dom.parentElement !== host.current) {
      host.current.replaceChildren(view.dom);
      view.requestMeasure();
    }
    // A narrow window has no room for long lines.
    setWrapping(view, narrow.value);
  });

  // The mark of an exception follows edits by itself; a new run brings a new one.
  const exception = useComputed(() => shown.value?.report.exception);
  useSignalEffect(() => {
    const span = exception.value?.span;
    each(open.value, (view, file) => showRaised(view, span && span.file === file ? span : undefined));
  });

  const breaks = useComputed(() => shown.value?.report.breaks);
  useSignalEffect(() => each(open.value, (view, file) => showBreaks(view, breaks.value ?? [], file)));

  useSignalEffect(() => {
    const chosen = selection.value;
    const span = chosen?.from === "script" ? undefined : chosen?.span;
    each(open.value, (view, file) => {
      const here = span?.file === file ? span : undefined;
      showLinked(view, here ? range(Math.max(here.line, 1), Math.min(here.end_line, view.state.doc.lines)) : []);
      if (here) reveal(view, here.line);
    });
  });

  useEffect(() => () => host.current?.replaceChildren(), []);
  return (
    <div class="script-pane">
      <ModuleTabs />
      <div class="editor" id="file-panel" ref={host} {...(hasTabs ? { role: "tabpanel", "aria-labelledby": `file-tab-${open.value?.id ?? 0}` } : {})} />
      <p id="script-help" class="visually-hidden">
        Python. Control or Command and Enter runs the script. Escape, then Tab, leaves the editor.
      </p>
    </div>
  );
}

/** The editor of the script, and that of the file that is open. */
function each(open: (typeof modules.value)[number] | undefined, mark: (view: EditorView, file: string | undefined) => void): void {
  mark(editor, undefined);
  if (open) mark(editorOf(open), open.name);
}

function range(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
}
