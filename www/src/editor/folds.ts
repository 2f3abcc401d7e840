// A graph's text by lines of the script: what comes from one line folds under PyTorch's comment that names it, and the number of
// that line stands beside every line of the text.
import { foldEffect, foldService, unfoldEffect, foldedRanges, codeFolding } from "@codemirror/language";
import { type EditorState, type Extension, RangeSet, type StateEffect } from "@codemirror/state";
import { type EditorView, gutter, GutterMarker } from "@codemirror/view";
import type { GraphView } from "../generated/report";

/** PyTorch's comment above the values of a line: `# File: script.py:14 in forward, code: ...`. */
const SOURCE = /^\s*# .*File: .*?:(\d+) in /;
const COMMENT = /^\s*# /;

/** The line of the script that a comment names. */
export function sourceLine(text: string): number | undefined {
  const match = SOURCE.exec(text);
  return match ? Number(match[1]) : undefined;
}

/** What folds under the comment on a line (counted from 1), if one is there: from its end to the last value before the next. */
export function foldUnder(state: EditorState, number: number): { from: number; to: number } | undefined {
  const { doc } = state;
  const line = doc.line(number);
  if (sourceLine(line.text) === undefined) return undefined;
  let last = number;
  for (let at = number + 1; at <= doc.lines; at += 1) {
    const { text } = doc.line(at);
    if (COMMENT.test(text) || /^\s*return\b/.test(text) || /^\s*(class|def) /.test(text)) break;
    if (text.trim() !== "") last = at;
  }
  return last > number ? { from: line.to, to: doc.line(last).to } : undefined;
}

function allFolds(state: EditorState): { from: number; to: number }[] {
  const ranges: { from: number; to: number }[] = [];
  for (let number = 1; number <= state.doc.lines; number += 1) {
    const range = foldUnder(state, number);
    if (range) ranges.push(range);
  }
  return ranges;
}

/** Folds all that comes from lines of the script, or unfolds everything. */
export function foldAllSources(view: EditorView, fold: boolean): void {
  const effects: StateEffect<unknown>[] = [];
  if (fold) for (const range of allFolds(view.state)) effects.push(foldEffect.of(range));
  else foldedRanges(view.state).between(0, view.state.doc.length, (from, to) => void effects.push(unfoldEffect.of({ from, to })));
  view.dispatch({ effects });
}

/** Unfolds what hides a line (counted from 1). */
export function unfoldAt(view: EditorView, number: number): void {
  if (number < 1 || number > view.state.doc.lines) return;
  const { from, to } = view.state.doc.line(number);
  const effects: StateEffect<unknown>[] = [];
  foldedRanges(view.state).between(from, to, (start, end) => {
    if (start < to) effects.push(unfoldEffect.of({ from: start, to: end }));
  });
  if (effects.length > 0) view.dispatch({ effects });
}

class LineOfScript extends GutterMarker {
  constructor(readonly line: number) {
    super();
  }
  override eq(other: LineOfScript): boolean {
    return other.line === this.line;
  }
  override toDOM(): Text {
    return document.createTextNode(String(this.line));
  }
}

/** Folding by source, and a gutter with the script's lines. */
export function bySource(graph: GraphView): Extension {
  const lineOf = new Map<number, number>();
  for (const { text_line, span, op } of graph.nodes) if (text_line !== null && span && op.startsWith("call_")) lineOf.set(text_line, span.line);
  // The text never changes: its marks are made once.
  let marks: RangeSet<LineOfScript> | undefined;
  return [
    foldService.of((state, from) => foldUnder(state, state.doc.lineAt(from).number) ?? null),
    codeFolding({
      preparePlaceholder: (state, { from, to }) => state.doc.lineAt(to).number - state.doc.lineAt(from).number,
      placeholderDOM: (_view, onclick, lines: number) => {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "cm-folded";
        button.textContent = `… ${lines} ${lines === 1 ? "line" : "lines"}`;
        button.title = "Unfold";
        button.onclick = onclick;
        return button;
      },
    }),
    gutter({
      class: "cm-source-lines",
      markers: (view) => {
        const { doc } = view.state;
        const make = (): RangeSet<LineOfScript> =>
          RangeSet.of([...lineOf].filter(([line]) => line < doc.lines).map(([line, source]) => new LineOfScript(source).range(doc.line(line + 1).from)), true);
        marks ??= make();
        return marks;
      },
      initialSpacer: () => new LineOfScript(999),
    }),
  ];
}
