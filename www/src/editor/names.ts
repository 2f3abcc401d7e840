// Colours the names of values in a graph's text: saved, recomputed, chosen; what matters of an operator's long name; and what the script
// calls an input, beside its name. That stands in no text: what is copied is what PyTorch prints.
// Only what can be seen is looked at.
import { type Extension, RangeSetBuilder, StateEffect, StateField, type Text } from "@codemirror/state";
import { Decoration, type DecorationSet, type EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";

export interface NameClasses {
  saved: ReadonlySet<string>;
  recomputed: ReadonlySet<string>;
  chosen: ReadonlySet<string>;
  /** What the script calls inputs, by their names. */
  sources: ReadonlyMap<string, string>;
}

const nothing: NameClasses = { saved: new Set(), recomputed: new Set(), chosen: new Set(), sources: new Map() };
export const setNames = StateEffect.define<NameClasses>();

const names = StateField.define<NameClasses>({
  create: () => nothing,
  update: (value, transaction) => {
    for (const effect of transaction.effects) if (effect.is(setNames)) return effect.value;
    return value;
  },
});

function classOf(name: string, { saved, recomputed, chosen }: NameClasses): string {
  const classes = [];
  if (saved.has(name)) classes.push("cm-saved");
  else if (recomputed.has(name)) classes.push("cm-recomputed");
  if (chosen.has(name)) classes.push("cm-chosen");
  return classes.join(" ");
}

/** Names, but not attributes of something (`torch.ops.aten.t.default`) and not what stands in a string. */
const NAME = /"[^"]*"|(?<![\w.])(torch\.ops\.)(\w+\.\w+)(\.\w+)?|(?<![\w.])[A-Za-z_]\w*/g;

const namespace = Decoration.mark({ class: "cm-namespace" });
/** Lines that name every input: there is no room for more. */
const LISTS_INPUTS = /^\s*def |fx_pytree\.tree_flatten|^\s*(?:\w+: "[^"]*"; ?)+$/;
const operator = Decoration.mark({ class: "cm-operator" });

/** The marks of the ranges of a text that can be seen. Of a long line those may be several: whole lines are read, so that a string or name
 * that a range cuts is one, and marked from where the range before ended. */
export function marksOf(doc: Text, ranges: readonly { from: number; to: number }[], classes: NameClasses): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  let marked = 0;
  const named = new Set<string>();
  let line: { from: number; to: number; text: string } | undefined;
  /** What the script calls an input, where its line names it first. */
  const sourceAt = (name: string, at: number): string | undefined => {
    const source = classes.sources.get(name);
    if (source === undefined) return undefined;
    if (!line || at > line.to || at < line.from) {
      line = doc.lineAt(at);
      named.clear();
    }
    if (named.has(name) || LISTS_INPUTS.test(line.text)) return undefined;
    named.add(name);
    return source;
  };
  for (const { from, to } of ranges) {
    const start = doc.lineAt(from).from;
    const text = doc.sliceString(start, doc.lineAt(to).to);
    for (const match of text.matchAll(NAME)) {
      const [whole, prefix, name, overload] = match;
      const at = start + match.index;
      if (at < marked) continue;
      if (at >= to) break;
      marked = at + whole.length;
      if (prefix && name) {
        const nameAt = at + prefix.length;
        builder.add(at, nameAt, namespace);
        builder.add(nameAt, nameAt + name.length, operator);
        if (overload) builder.add(nameAt + name.length, at + whole.length, namespace);
        continue;
      }
      const found = classOf(whole, classes);
      const source = sourceAt(whole, at);
      const look = [found, source === undefined ? "" : "cm-sourced"].filter(Boolean).join(" ");
      if (look) builder.add(at, at + whole.length, Decoration.mark(source === undefined ? { class: look } : { class: look, attributes: { "data-source": source } }));
    }
  }
  return builder.finish();
}

export const nameMarks: Extension = [
  names,
  ViewPlugin.fromClass(
    class {
      decorations: DecorationSet;
      constructor(view: EditorView) {
        this.decorations = marksOf(view.state.doc, view.visibleRanges, view.state.field(names));
      }
      update(update: ViewUpdate): void {
        const changed = update.startState.field(names) !== update.state.field(names);
        if (changed || update.docChanged || update.viewportChanged) this.decorations = marksOf(update.state.doc, update.view.visibleRanges, update.state.field(names));
      }
    },
    { decorations: (plugin) => plugin.decorations },
  ),
];
