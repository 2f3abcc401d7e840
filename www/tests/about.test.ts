import { Text } from "@codemirror/state";
import { expect, it } from "vitest";
import { wordAt } from "../src/editor/hover";
import type { GraphView, NodeView } from "../src/generated/report";
import { about, typeInWords } from "../src/report/about";
import { byTarget } from "../src/report/signatures";
import type { Unit } from "../src/report/stages";

const node = (id: number, name: string, rest: Partial<NodeView>): NodeView => ({
  id, name, op: "call_function", target: "aten.mm.default", args: "", kwargs: "", text_line: id, dtype: "float32", shape: ["4", "8"], stride: ["8", "1"], bytes: 128,
  inputs: [], span: { line: 7, column: 0, end_line: 7, end_column: 1 }, module_path: "blocks.0", source_fn: null, is_backward: false, mutates: false, seq_nr: null, ...rest,
});

const joint: GraphView = {
  readable: "",
  nodes: [
    node(0, "primals_1", { op: "placeholder", target: "primals_1", source: "self.lin.weight", span: null, module_path: "" }),
    node(1, "tangents_1", { op: "placeholder", target: "tangents_1", source: "gradient of output 0", shape: [], stride: [], bytes: 4, span: null, module_path: "" }),
    node(2, "mm", { inputs: [0] }),
    node(3, "t", { inputs: [0], is_backward: true, stride: ["1", "4"] }),
  ],
};
const compilation = { saved: [], partition: { decisions: [{ name: "mm", fate: "saved", reason: "`aten.mm` is compute-intensive" }] } };
const unit = { key: "c0", title: "f", stages: { joint }, compilation } as unknown as Unit;
const told = (name: string): string => {
  const found = about(unit, "joint", name);
  return found ? [[found.name, found.source].filter(Boolean).join(": "), ...found.facts].join("\n") : "nothing";
};

it("says of a name what it is, its type in words, where it comes from and what became of it", () => {
  expect(told("primals_1")).toBe("primals_1: self.lin.weight\ngraph input\nfloat32, 4 × 8, contiguous, 128 B\nread by mm, t");
  expect(told("tangents_1")).toBe("tangents_1: gradient of output 0\ntangent: the gradient that arrives for an output; 1.0 where loss.backward() is called on it\nfloat32, a scalar, 4 B");
  expect(told("mm")).toBe("mm\nresult of aten.mm.default\nfloat32, 4 × 8, contiguous, 128 B\nline 7, in blocks.0\nsaved: `aten.mm` is compute-intensive");
  expect(told("t")).toBe("t\nresult of aten.mm.default\nfloat32, 4 × 8, strides 1, 4, 128 B\nbackward of line 7, in blocks.0");
  expect(told("nobody")).toBe("nothing");
});

it("is careful with sizes that are symbols", () => {
  expect(typeInWords(node(0, "x", { shape: ["s0", "8"], stride: ["8", "1"], bytes: null }))).toBe("float32, s0 × 8, strides 8, 1");
});

it("finds the word under the pointer", () => {
  const doc = Text.of(["def f():", "    mm = torch.ops.aten.mm.default(primals_1, 2.0)"]);
  const at = (text: string): string | undefined => wordAt(doc, doc.toString().indexOf(text) + 1)?.text;
  expect([at("mm ="), at("aten.mm"), at("primals_1"), at("2.0"), at("   mm")]).toEqual(["mm", "torch.ops.aten.mm.default", "primals_1", undefined, undefined]);
});

it("knows signatures by what graphs call", () => {
  const known = byTarget("| `aten.sin(Tensor self) -> Tensor` | kernel |\n| `aten.add.Tensor(Tensor self, Tensor other) -> Tensor` | kernel |\n");
  expect([...known]).toEqual([
    ["aten.sin.default", "aten.sin(Tensor self) -> Tensor"],
    ["aten.add.Tensor", "aten.add.Tensor(Tensor self, Tensor other) -> Tensor"],
  ]);
});
