// The script's editor. One view lives as long as the page, whichever pane holds it: text, history and scroll stay.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit } from "@codemirror/language";
import { highlightSelectionMatches } from "@codemirror/search";
import { Annotation, Compartment, EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { breakMarks } from "./breaks";
import { find } from "./find";
import { linked, raised } from "./marks";
import { codeLook } from "./theme";
import { wrapping } from "./wrapping";

export interface ScriptEvents {
  /** What the text is called. */
  label: string;
  /** Whether the text may only be read. */
  readOnly: boolean;
  /** The visitor changed the text. */
  onEdit(): void;
  /** The visitor paused in typing, not in the middle of composing a character. */
  onPause(): void;
  /** The visitor asks for a run. */
  onRun(): void;
  /** The visitor pastes a text; whether it is taken, and is not to stand in the script. */
  onPaste(text: string): boolean;
  /** The visitor went to other lines (counted from 1), without typing. */
  onLines(first: number, last: number): void;
}

export const PAUSE_MS = 400;
const FIRST_USE = ["focusin", "pointerenter"] as const;
const assistance = new Compartment();
/** Marks a change that is not the visitor's: a link or an example was opened. */
const quiet = Annotation.define<boolean>();

export function createScriptEditor(events: ScriptEvents): EditorView {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const pause = (view: EditorView): void => {
    clearTimeout(timer);
    timer = setTimeout(() => (view.composing ? pause(view) : events.onPause()), PAUSE_MS);
  };
  const listener = EditorView.updateListener.of((update) => {
    if (update.docChanged) {
      const byVisitor = update.transactions.some((transaction) => transaction.docChanged && !transaction.annotation(quiet));
      if (!byVisitor) return;
      events.onEdit();
      pause(update.view);
    } else if (update.selectionSet && update.transactions.some((transaction) => transaction.isUserEvent("select"))) {
      const { from, to } = update.state.selection.main;
      events.onLines(update.state.doc.lineAt(from).number, update.state.doc.lineAt(to).number);
    }
  });
  const run = (): boolean => {
    clearTimeout(timer);
    events.onRun();
    return true;
  };
  const view = new EditorView({
    state: EditorState.create({
      extensions: [
        // Before the other keys: a list of completions takes Enter and the arrows.
        assistance.of([]),
        breakMarks,
        lineNumbers(),
        highlightActiveLineGutter(),
        // Controls, marks of direction and what has no width are shown: a stranger's script may hold any.
        highlightSpecialChars({ addSpecialChars: /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufff9-\ufffb\uffa0]|[\u{e0000}-\u{e007f}]/gu }),
        history(),
        drawSelection(),
        EditorState.allowMultipleSelections.of(true),
        indentUnit.of("    "),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        find,
        Prec.high(keymap.of([{ key: "Mod-Enter", run }, { key: "Shift-Enter", run }])),
        keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        pythonLanguage,
        codeLook,
        wrapping.of([]),
        linked.field,
        raised.field,
        EditorState.readOnly.of(events.readOnly),
        EditorView.contentAttributes.of({ "aria-label": events.label, "aria-describedby": "script-help", "aria-readonly": String(events.readOnly), tabindex: "0", spellcheck: "false" }),
        listener,
        Prec.high(
          EditorView.domEventHandlers({
            paste: (event) => {
              const text = event.clipboardData?.getData("text/plain");
              if (!text || events.readOnly || !events.onPaste(text)) return false;
              event.preventDefault();
              return true;
            },
          }),
        ),
      ],
    }),
  });
  // Completion and explanations are fetched when the visitor first points at the editor or enters it.
  const assist = (): void => {
    for (const event of FIRST_USE) view.dom.removeEventListener(event, assist);
    import("./assist").then(
      (module) => view.dispatch({ effects: assistance.reconfigure(module.assist) }),
      () => FIRST_USE.forEach((event) => view.dom.addEventListener(event, assist)),
    );
  };
  if (!events.readOnly) FIRST_USE.forEach((event) => view.dom.addEventListener(event, assist));
  return view;
}

/** Inserts a text where the visitor is, as if it were pasted. */
export function insertText(view: EditorView, text: string): void {
  view.dispatch(view.state.replaceSelection(text), { userEvent: "input.paste", scrollIntoView: true });
  view.focus();
}

/** Replaces the whole text, without the events of an edit. */
export function setText(view: EditorView, text: string): void {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: { anchor: 0 }, annotations: quiet.of(true) });
}
