// The file's policy names styles by a number that is drawn for each file: what CodeMirror adds must have it, too. CodeMirror asks the first
// editor on a page, so that this comes before any.
import { EditorView } from "@codemirror/view";

const { nonce } = document.querySelector<HTMLStyleElement>("style[nonce]") ?? {};
if (nonce) new EditorView({ extensions: EditorView.cspNonce.of(nonce) }).destroy();
