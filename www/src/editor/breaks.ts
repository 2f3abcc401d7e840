// Marks in the script's margin where capture had to stop, each with its reason.
import { type Extension, type Range, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { EditorView, gutter, GutterMarker } from "@codemirror/view";
import type { GraphBreak } from "../generated/report";

/** Reasons that one line shows at most. */
const MOST_REASONS = 10;

class Break extends GutterMarker {
  constructor(readonly reason: string) {
    super();
  }
  override eq(other: Break): boolean {
    return other.reason === this.reason;
  }
  override toDOM(): Node {
    const mark = document.createElement("span");
    mark.className = "cm-break";
    mark.textContent = "⌁";
    mark.title = `Graph break: ${this.reason}`;
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", mark.title);
    return mark;
  }
}

const setBreaks = StateEffect.define<RangeSet<Break>>();

const field = StateField.define<RangeSet<Break>>({
  create: () => RangeSet.empty,
  update: (marks, transaction) => {
    for (const effect of transaction.effects) if (effect.is(setBreaks)) return effect.value;
    return marks.map(transaction.changes);
  },
});

const look = EditorView.baseTheme({
  // Without a break the margin takes no room.
  ".cm-break": { padding: "0 2px 0 4px", color: "var(--warning)", fontSize: "15px", fontWeight: "700", cursor: "help" },
});

export const breakMarks: Extension = [field, gutter({ class: "cm-breaks", markers: (view) => view.state.field(field) }), look];

/** Marks the lines of these breaks that are in a file, or in the script; what is out of the text is left out. */
export function showBreaks(view: EditorView, breaks: readonly GraphBreak[], file?: string): void {
  const reasons = new Map<number, Set<string>>();
  for (const { reason, span } of breaks) {
    if (!span || span.file !== file || span.line < 1 || span.line > view.state.doc.lines) continue;
    const known = reasons.get(span.line) ?? new Set();
    if (known.size < MOST_REASONS) reasons.set(span.line, known.add(reason));
  }
  const ranges: Range<Break>[] = [...reasons].map(([line, all]) => new Break([...all].join("\n")).range(view.state.doc.line(line).from));
  view.dispatch({ effects: setBreaks.of(RangeSet.of(ranges, true)) });
}
