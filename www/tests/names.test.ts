import { Text } from "@codemirror/state";
import { expect, it } from "vitest";
import { marksOf } from "../src/editor/names";

/** What is marked in the ranges of a line, each `text:classes`. */
function marked(line: string, ranges: readonly (readonly [number, number])[], saved: readonly string[]): string[] {
  const doc = Text.of([line]);
  const classes = { saved: new Set(saved), recomputed: new Set<string>(), chosen: new Set<string>() };
  const found: string[] = [];
  const marks = marksOf(
    doc,
    ranges.map(([from, to]) => ({ from, to })),
    classes,
  );
  marks.between(0, doc.length, (from, to, { spec }) => {
    found.push(`${doc.sliceString(from, to)}:${String(spec.class)}`);
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
