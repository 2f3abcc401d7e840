// How code looks, in the script and in the graphs: colours come from the page's own custom properties.
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags as t } from "@lezer/highlight";

const highlight = HighlightStyle.define([
  { tag: [t.keyword, t.operatorKeyword, t.controlKeyword, t.definitionKeyword, t.moduleKeyword], color: "var(--code-keyword)" },
  { tag: [t.string, t.special(t.string)], color: "var(--code-string)" },
  { tag: [t.number, t.bool, t.null], color: "var(--code-number)" },
  { tag: [t.comment], color: "var(--code-comment)", fontStyle: "italic" },
  { tag: [t.definition(t.variableName), t.function(t.definition(t.variableName)), t.className], color: "var(--code-definition)" },
  { tag: [t.function(t.variableName), t.function(t.propertyName)], color: "var(--code-call)" },
  { tag: [t.meta], color: "var(--code-decorator)" },
  { tag: [t.operator, t.punctuation, t.bracket], color: "var(--code-punctuation)" },
]);

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", backgroundColor: "transparent", color: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-line": { padding: "0 12px 0 6px" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--faint)", border: "none", userSelect: "none" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 6px 0 12px", minWidth: "32px" },
  ".cm-activeLine": { backgroundColor: "var(--line-active)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--muted)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--selection)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--bracket)", outline: "none" },
  ".cm-made": { boxShadow: "inset 3px 0 0 var(--border-strong)" },
  ".cm-linked": { backgroundColor: "var(--linked)" },
  ".cm-raised": { backgroundColor: "var(--raised)", boxShadow: "inset 3px 0 0 var(--error)" },
  ".cm-raised-mark": { textDecoration: "underline wavy var(--error)", textUnderlineOffset: "3px" },
  ".cm-saved": { color: "var(--saved)", fontWeight: "600", borderBottom: "1.5px solid var(--saved)" },
  ".cm-recomputed": { color: "var(--recomputed)", borderBottom: "1.5px dotted var(--recomputed)" },
  ".cm-chosen": { backgroundColor: "var(--linked-strong)", borderRadius: "2px" },
  // On that ground colours would be hard to read; the line below a name still says what becomes of it.
  ".cm-chosen.cm-saved, .cm-chosen.cm-recomputed": { color: "var(--text)" },
  ".cm-chosen.cm-saved *, .cm-chosen.cm-recomputed *": { color: "inherit" },
  ".cm-sourced::after": { content: "' ' attr(data-source)", color: "var(--muted)", fontSize: "11px", fontWeight: "400" },
  ".cm-namespace, .cm-namespace *": { color: "var(--faint)" },
  ".cm-operator, .cm-operator *": { color: "var(--code-call)" },
  ".cm-forward": { boxShadow: "inset 3px 0 0 var(--forward)" },
  ".cm-backward": { boxShadow: "inset 3px 0 0 var(--backward)" },
  ".cm-panels": { backgroundColor: "var(--surface)", color: "var(--text)", borderColor: "var(--border)" },
  ".cm-panel.cm-search": { padding: "6px 8px", fontFamily: "var(--sans)" },
  ".cm-textfield": { backgroundColor: "var(--input)", border: "1px solid var(--border-strong)", borderRadius: "5px", color: "inherit" },
  ".cm-button": { background: "var(--button)", border: "1px solid var(--border-strong)", borderRadius: "5px", color: "inherit" },
  ".cm-searchMatch": { backgroundColor: "var(--match)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--match-strong)" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", border: "1px solid var(--border-strong)", borderRadius: "6px" },
  ".cm-foldGutter .cm-gutterElement": { cursor: "pointer" },
  ".cm-source-lines .cm-gutterElement": { padding: "0 4px 0 10px", fontSize: "11px", textAlign: "right" },
  ".cm-folded": { margin: "0 6px", padding: "0 6px", border: "1px solid var(--border-strong)", borderRadius: "5px", background: "var(--sunken)", color: "var(--muted)", font: "inherit", fontSize: "11px", cursor: "pointer" },
});

export const codeLook: Extension = [look, syntaxHighlighting(highlight)];
