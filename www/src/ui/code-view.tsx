// Text to read: CodeMirror draws only what can be seen, folds, finds (Control or Command and F) and copies.
import { defaultKeymap } from "@codemirror/commands";
import { foldGutter, foldKeymap } from "@codemirror/language";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { find } from "../editor/find";
import { codeLook } from "../editor/theme";
import { narrow } from "../state/layout";
import { CopyButton } from "./copy-button";

interface Props {
  text: string;
  label: string;
  /** What its words mean; plain text has none. */
  language?: Extension;
  numbered?: boolean;
  class: string;
}

export function CodeView({ text, label, language = [], numbered = false, class: look }: Props): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const view = new EditorView({
      state: EditorState.create({
        doc: text,
        extensions: [
          EditorState.readOnly.of(true),
          drawSelection(),
          numbered ? [lineNumbers(), foldGutter()] : [],
          find,
          keymap.of([...defaultKeymap, ...foldKeymap]),
          language,
          codeLook,
          // A narrow window has no room for long lines.
          narrow.peek() ? EditorView.lineWrapping : [],
          EditorView.contentAttributes.of({ tabindex: "0", "aria-label": label, "aria-readonly": "true" }),
        ],
      }),
    });
    host.current?.append(view.dom);
    return () => view.destroy();
  }, [text]);
  return (
    <div class={`code-view ${look}`} ref={host}>
      <CopyButton text={text} what={label} />
    </div>
  );
}
