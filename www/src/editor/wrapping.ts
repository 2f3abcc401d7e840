// Whether long lines are wrapped: in every text that has this compartment.
import { Compartment } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

export const wrapping = new Compartment();

export function setWrapping(view: EditorView, on: boolean): void {
  view.dispatch({ effects: wrapping.reconfigure(on ? EditorView.lineWrapping : []) });
}
