import { Text } from "@codemirror/state";
import { expect, it } from "vitest";
import { marksOf } from "../src/editor/names";

/** What is marked in the ranges of a line, each `text:classes`. */
function marked(line: string, ranges: readonly (readonly [number, number])[], saved: readonly string[], sources: Record<string, string> = {}): string[] {
  const doc = Text.of(line.split("\n"));
  const classes = { saved: new Set(saved), recomputed: new Set<string>(), chosen: new Set<string>(), sources: new Map(Object.entries(sources)) };
  const found: string[] = [];
  const marks = marksOf(
    doc,
    ranges.map(([from, to]) => ({ from, to })),
    classes,
  );
  marks.between(0, doc.length, (from, to, { spec }) => {
    const { class: look, attributes } = spec as { class: string; attributes?: { "data-source": string } };
    found.push([doc.sliceString(from, to), look, attributes?.["data-source"]].filter(Boolean).join(":"));
  });
  return found;
}

const parameters = Array.from({ length: 400 }, (_, i) => `primals_${i}`);
const signature = `def forward(self, ${parameters.map((name) => `${name}: "f32[8, 8][8, 1]cpu"`).join(", ")}):`;

it("marks names in every range of a line that is seen in parts", () => {
  const middle = signature.indexOf("primals_200");
  const found = marked(signature, [[0, 300], [middle, middle + 300]], ["primals_1", "primals_201", "f32"]);
  expect(found).toEqual(["primals_1:cm-saved", "primals_201:cm-saved"]);
});

it("marks what lies between two ranges once", () => {
  const at = signature.indexOf("primals_3:");
  expect(marked(signature, [[0, at + 4], [at + 2, at + 40]], ["primals_2", "primals_3"])).toEqual(["primals_2:cm-saved", "primals_3:cm-saved"]);
});

it("tells an operator's name from what is around it", () => {
  const line = "mm = torch.ops.aten.mm.default(t, x)";
  expect(marked(line, [[0, line.length]], ["x"])).toEqual(["torch.ops.:cm-namespace", "aten.mm:cm-operator", ".default:cm-namespace", "x:cm-saved"]);
});

it("says beside an input what the script calls it, once a line and not where all inputs are listed", () => {
  const text = ["def forward(self, primals_1, primals_2):", "    mul = f(primals_1, primals_1);  primals_1 = None", "    add = f(primals_1, primals_2)"].join("\n");
  expect(marked(text, [[0, text.length]], ["primals_2"], { primals_1: "self.lin.weight", primals_2: "x" })).toEqual([
    "primals_2:cm-saved",
    "primals_1:cm-sourced:self.lin.weight",
    "primals_1:cm-sourced:self.lin.weight",
    "primals_2:cm-saved cm-sourced:x",
  ]);
});
