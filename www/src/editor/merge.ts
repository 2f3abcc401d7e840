// Two texts line by line: beside each other, or where there is no room one after the other; long stretches that are the same are folded.
import { defaultKeymap } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import { getChunks, MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, keymap } from "@codemirror/view";
import { find } from "./find";
import { codeLook } from "./theme";

/** Lines around a change that stay, and the fewest lines that are worth folding. */
const FOLDS = { margin: 3, minSize: 6 };
/** Texts of graphs are long and alike: how far is looked for the same line, and how long, in milliseconds. */
const EFFORT = { scanLimit: 1000, timeout: 1000 };

function look(label: string): Extension {
  return [
    EditorState.readOnly.of(true),
    drawSelection(),
    find,
    keymap.of(defaultKeymap),
    pythonLanguage,
    codeLook,
    differences,
    EditorView.contentAttributes.of({ tabindex: "0", "aria-label": label, "aria-readonly": "true" }),
  ];
}

/** A ground that comments can be read on, too. */
const ground = (colour: string, share: number): string => `color-mix(in srgb, var(${colour}) ${share}%, var(--surface))`;

const differences = EditorView.theme({
  "&": { height: "auto" },
  "&.cm-merge-a .cm-changedLine, .cm-deletedChunk": { backgroundColor: ground("--bad-ground", 30) },
  "&.cm-merge-b .cm-changedLine, .cm-insertedLine": { backgroundColor: ground("--good-ground", 30) },
  "&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText": { background: ground("--bad-ground", 60) },
  "&.cm-merge-b .cm-changedText, & .cm-insertedLine .cm-changedText": { background: ground("--good-ground", 60) },
  "&.cm-merge-a .cm-changedLineGutter, .cm-deletedLineGutter": { background: "var(--error)" },
  "&.cm-merge-b .cm-changedLineGutter": { background: "var(--good)" },
  "& .cm-collapsedLines": { background: "var(--sunken)", color: "var(--muted)", padding: "3px 5px", cursor: "pointer" },
  "& .cm-deletedChunk": { paddingLeft: "6px" },
});

export interface Merged {
  /** How many stretches of lines differ. */
  changes: number;
  destroy(): void;
}

export function showMerged(parent: HTMLElement, [one, other]: readonly [string, string], names: readonly [string, string], besideEachOther: boolean): Merged {
  if (besideEachOther) {
    const view = new MergeView({
      a: { doc: one, extensions: look(names[0]) },
      b: { doc: other, extensions: look(names[1]) },
      parent,
      collapseUnchanged: FOLDS,
      diffConfig: EFFORT,
    });
    return { changes: view.chunks.length, destroy: () => view.destroy() };
  }
  const view = new EditorView({
    state: EditorState.create({
      doc: other,
      extensions: [look(`${names[1]}, with the lines of ${names[0]}`), EditorView.lineWrapping, unifiedMergeView({ original: one, mergeControls: false, collapseUnchanged: FOLDS, diffConfig: EFFORT })],
    }),
    parent,
  });
  return { changes: getChunks(view.state)?.chunks.length ?? 0, destroy: () => view.destroy() };
}
