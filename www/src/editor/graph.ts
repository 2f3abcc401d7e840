// A graph's text, to read: CodeMirror draws only what can be seen, so that graphs of thousands of lines stay quick.
import { defaultKeymap } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import { foldGutter, foldKeymap } from "@codemirror/language";
import { EditorState, type Extension, type Range, RangeSet } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, keymap } from "@codemirror/view";
import type { GraphView, NodeView } from "../generated/report";
import type { About } from "../report/about";
import { find, keptFind } from "./find";
import { bySource } from "./folds";
import { hovers } from "./hover";
import { linked } from "./marks";
import { nameMarks } from "./names";
import { codeLook } from "./theme";
import { wrapping } from "./wrapping";

/** Whether a node is a line of its own: of a function or, in a captured graph, a method. */
export const isCall = (node: NodeView): boolean => node.op === "call_function" || node.op === "call_method";

/** `onLine` hears which line (counted from 0) the visitor goes to. */
export function createGraphViewer(label: string, onLine: (line: number) => void): EditorView {
  return new EditorView({ state: state("", label, onLine, []) });
}

function state(text: string, label: string, onLine: (line: number) => void, more: Extension): EditorState {
  return EditorState.create({
    doc: text,
    extensions: [
      EditorState.readOnly.of(true),
      drawSelection(),
      foldGutter(),
      find,
      keymap.of([...defaultKeymap, ...foldKeymap]),
      pythonLanguage,
      codeLook,
      linked.field,
      nameMarks,
      wrapping.of([]),
      EditorView.contentAttributes.of({ tabindex: "0", "aria-label": label, "aria-readonly": "true" }),
      EditorView.updateListener.of((update) => {
        if (update.selectionSet && update.transactions.some((transaction) => transaction.isUserEvent("select"))) {
          onLine(update.state.doc.lineAt(update.state.selection.main.head).number - 1);
        }
      }),
      more,
    ],
  });
}

/** Shows another graph, from its top; forward and backward nodes get their colour in the margin where both are there. `of` says what a
 * name is that the pointer rests on. */
export function showGraph(view: EditorView, graph: GraphView, label: string, onLine: (line: number) => void, of: (name: string) => About | undefined): void {
  const ofWord = (word: string, line: number): About | undefined => {
    if (!word.includes(".")) return of(word);
    const call = graph.nodes.find((node) => node.text_line === line && isCall(node));
    return call && of(call.name);
  };
  const reopen = keptFind(view);
  view.setState(state(graph.readable, label, onLine, [directions(graph), bySource(graph), hovers(ofWord)]));
  reopen();
}

function directions(graph: GraphView): Extension {
  if (!graph.nodes.some((node) => node.is_backward) || graph.nodes.every((node) => node.is_backward)) return [];
  const starts = lineStarts(graph.readable);
  const ranges: Range<Decoration>[] = [];
  for (const node of graph.nodes) {
    const from = isCall(node) && node.text_line !== null ? starts[node.text_line] : undefined;
    if (from !== undefined) ranges.push(Decoration.line({ class: node.is_backward ? "cm-backward" : "cm-forward" }).range(from));
  }
  return EditorView.decorations.of(RangeSet.of(ranges, true));
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}
