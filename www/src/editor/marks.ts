// Marks that come from outside the text: lines linked to the choice elsewhere, the line that raised.
import { type Range, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";

/** A set of decorations that an effect replaces and that follows edits. */
function markField(): { set: (ranges: readonly Range<Decoration>[]) => StateEffect<unknown>; field: StateField<DecorationSet> } {
  const effect = StateEffect.define<DecorationSet>();
  const field = StateField.define<DecorationSet>({
    create: () => Decoration.none,
    update: (marks, transaction) => {
      for (const candidate of transaction.effects) if (candidate.is(effect)) return candidate.value;
      return marks.map(transaction.changes);
    },
    provide: (provided) => EditorView.decorations.from(provided),
  });
  return { set: (ranges) => effect.of(Decoration.set([...ranges], true)), field };
}

export const linked = markField();
export const raised = markField();

const linkedLine = Decoration.line({ class: "cm-linked" });
const raisedLine = Decoration.line({ class: "cm-raised" });
const raisedMark = Decoration.mark({ class: "cm-raised-mark" });

/** Marks lines (counted from 1) as linked; what is out of the text is left out. */
export function showLinked(view: EditorView, lines: Iterable<number>): void {
  const inText = [...new Set(lines)].filter((line) => line >= 1 && line <= view.state.doc.lines);
  view.dispatch({ effects: linked.set(inText.map((line) => linkedLine.range(view.state.doc.line(line).from))) });
}

/** Marks where an exception was raised, or nothing. */
export function showRaised(view: EditorView, span: { line: number; column: number; end_line: number; end_column: number } | undefined): void {
  const { doc } = view.state;
  if (!span || span.line < 1 || span.line > doc.lines) {
    view.dispatch({ effects: raised.set([]) });
    return;
  }
  const line = doc.line(span.line);
  const ranges = [raisedLine.range(line.from)];
  const endLine = doc.line(Math.min(Math.max(span.end_line, span.line), doc.lines));
  const from = Math.min(line.from + codeUnits(line.text, span.column), line.to);
  const to = Math.min(endLine.from + codeUnits(endLine.text, span.end_column), endLine.to);
  if (to > from) ranges.push(raisedMark.range(from, to));
  view.dispatch({ effects: raised.set(ranges) });
}

/** The UTF-16 length of the first `characters` characters: Python counts code points. */
function codeUnits(text: string, characters: number): number {
  let units = 0;
  let left = characters;
  for (const character of text) {
    if (left === 0) break;
    units += character.length;
    left -= 1;
  }
  return units;
}

/** Scrolls so that `line` can be seen, if it cannot. */
export function reveal(view: EditorView, line: number): void {
  if (line < 1 || line > view.state.doc.lines) return;
  view.dispatch({ effects: EditorView.scrollIntoView(view.state.doc.line(line).from, { y: "nearest", yMargin: 60 }) });
}
