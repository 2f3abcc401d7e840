// Help while writing: completion of PyTorch's names, an explanation under the pointer, brackets that close themselves. Fetched when
// the editor is first used, with the list of names.
import { autocompletion, closeBrackets, closeBracketsKeymap, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { pythonLanguage } from "@codemirror/lang-python";
import type { Extension } from "@codemirror/state";
import { EditorView, hoverTooltip, keymap, type Tooltip } from "@codemirror/view";
import { imports, type Known, lookup, names, owner, support } from "./known";

/** Signature, words and support, as elements. */
export function explained(path: string, known: Known): HTMLElement {
  const box = document.createElement("div");
  box.className = "cm-explained";
  const add = (tag: string, className: string, text: string): void => {
    const part = document.createElement(tag);
    part.className = className;
    part.textContent = text;
    box.append(part);
  };
  add("code", "cm-signature", `${path}${known.signature}`);
  if (known.words) add("p", "cm-words", known.words.replaceAll("`", ""));
  const how = support(known);
  if (how) add("p", "cm-support", how);
  return box;
}

function option(parent: string, known: Known): Completion {
  const type = /^[A-Z]/.test(known.name) ? "class" : parent === "torch.Tensor" ? "method" : known.signature ? "function" : "variable";
  return { label: known.name, type, info: () => explained(`${parent}.${known.name}`, known), boost: known.name.endsWith("_") ? -1 : 0 };
}

/** Completions after a dot: members of a module, methods of a tensor. */
export function complete(context: CompletionContext): CompletionResult | null {
  const word = context.matchBefore(/\w*/);
  const from = word?.from ?? context.pos;
  const line = context.state.doc.lineAt(from);
  const before = line.text.slice(0, from - line.from);
  if (!before.endsWith(".")) return null;
  const parent = owner(before, imports(context.state.doc.toString()), names());
  const members = parent === undefined ? undefined : names().get(parent);
  if (parent === undefined || !members) return null;
  return { from, options: [...members.values()].map((known) => option(parent, known)), validFor: /^\w*$/ };
}

function hover(view: EditorView, pos: number): Tooltip | null {
  const line = view.state.doc.lineAt(pos);
  const found = lookup(line.text, pos - line.from, view.state.doc.toString(), names());
  if (!found) return null;
  return { pos: line.from + found.from, end: line.from + found.to, above: true, create: () => ({ dom: explained(found.path, found.known) }) };
}

const look = EditorView.baseTheme({
  ".cm-explained": { padding: "6px 10px", maxWidth: "60ch", fontFamily: "var(--sans)", fontSize: "12.5px", lineHeight: "1.45" },
  ".cm-explained p": { margin: "4px 0 0" },
  ".cm-signature": { fontFamily: "var(--mono)", fontSize: "12px", overflowWrap: "anywhere" },
  ".cm-support": { color: "var(--muted)" },
});

export const assist: Extension = [
  closeBrackets(),
  autocompletion({ icons: false, activateOnTypingDelay: 50 }),
  pythonLanguage.data.of({ autocomplete: complete }),
  hoverTooltip(hover),
  keymap.of(closeBracketsKeymap),
  look,
];
