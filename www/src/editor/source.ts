// A script to read, with marks on the lines that made nodes.
import { defaultKeymap } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import { EditorState, RangeSet } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { find } from "./find";
import { linked } from "./marks";
import { codeLook } from "./theme";

const madeLine = Decoration.line({ class: "cm-made" });

/** `made` are lines counted from 1; `onLines` hears to which the visitor goes. */
export function createSource(text: string, label: string, made: readonly number[], onLines: (first: number, last: number) => void): EditorView {
  const doc = EditorState.create({ doc: text }).doc;
  const inText = [...new Set(made)].filter((line) => line >= 1 && line <= doc.lines).toSorted((a, b) => a - b);
  return new EditorView({
    state: EditorState.create({
      doc,
      extensions: [
        EditorState.readOnly.of(true),
        lineNumbers(),
        drawSelection(),
        highlightActiveLine(),
        find,
        keymap.of(defaultKeymap),
        pythonLanguage,
        codeLook,
        linked.field,
        EditorView.decorations.of(RangeSet.of(inText.map((line) => madeLine.range(doc.line(line).from)))),
        EditorView.contentAttributes.of({ tabindex: "0", "aria-label": label, "aria-readonly": "true" }),
        EditorView.updateListener.of((update) => {
          if (!update.selectionSet || !update.transactions.some((transaction) => transaction.isUserEvent("select"))) return;
          const { from, to } = update.state.selection.main;
          onLines(update.state.doc.lineAt(from).number, update.state.doc.lineAt(to).number);
        }),
      ],
    }),
  });
}
