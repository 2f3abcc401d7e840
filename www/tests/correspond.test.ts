import { describe, expect, it } from "vitest";
import type { GraphView, NodeView } from "../src/generated/report";
import { correspond } from "../src/report/correspond";

const at = (line: number): NodeView["span"] => ({ line, column: 4, end_line: line, end_column: 20 });
const graph = (nodes: Partial<NodeView>[]): GraphView => ({
  readable: "",
  nodes: nodes.map((node, id) => ({ id, op: "call_function", span: null, is_backward: false, seq_nr: null, ...node }) as NodeView),
});

describe("a node in another stage", () => {
  it("is the one of its name, where that comes from the same line", () => {
    const there = graph([{ name: "mul", span: at(3) }, { name: "relu", span: at(5) }]);
    expect(correspond(there, { names: ["relu"], span: at(5)! })?.name).toBe("relu");
  });

  it("is not another that has its name by chance", () => {
    const there = graph([{ name: "relu", span: at(9) }, { name: "relu_1", span: at(5) }]);
    expect(correspond(there, { names: ["relu"], span: at(5)! })?.name).toBe("relu_1");
  });

  it("is the call of its sequence number on its side, where several come from its place", () => {
    const there = graph([
      { name: "t", span: at(5), seq_nr: 1 },
      { name: "addmm", span: at(5), seq_nr: 2 },
      { name: "mm", span: at(5), seq_nr: 2, is_backward: true },
    ]);
    expect(correspond(there, { names: ["linear"], span: at(5)!, seq_nr: 2, is_backward: false })?.name).toBe("addmm");
    expect(correspond(there, { names: ["x"], span: at(5)!, seq_nr: 2, is_backward: true })?.name).toBe("mm");
  });

  it("is nothing where nothing comes from its place", () => {
    expect(correspond(graph([{ name: "mul", span: at(3) }]), { names: ["relu"], span: at(5)! })).toBeUndefined();
  });
});
