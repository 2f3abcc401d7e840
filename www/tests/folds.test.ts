import { EditorState } from "@codemirror/state";
import { describe, expect, it } from "vitest";
import { foldUnder, sourceLine } from "../src/editor/folds";

const TEXT = `class GraphModule(torch.nn.Module):
    def forward(self, x):
        # File: script.py:4 in f, code: y = x.sin().cos()
        sin = torch.ops.aten.sin.default(x);  x = None
        cos = torch.ops.aten.cos.default(sin);  sin = None

        # File: script.py:5 in f, code: return y * 2
        mul = torch.ops.aten.mul.Tensor(cos, 2);  cos = None
        return (mul,)
`;

describe("folding by lines of the script", () => {
  const state = EditorState.create({ doc: TEXT });
  const folded = (line: number): string | undefined => {
    const range = foldUnder(state, line);
    return range && TEXT.slice(range.from, range.to).trim();
  };

  it("folds all that comes from a line, and no more", () => {
    expect(folded(3)).toBe("sin = torch.ops.aten.sin.default(x);  x = None\n        cos = torch.ops.aten.cos.default(sin);  sin = None");
    expect(folded(7)).toBe("mul = torch.ops.aten.mul.Tensor(cos, 2);  cos = None");
  });

  it("folds nothing elsewhere", () => {
    for (const line of [1, 2, 4, 5, 6, 8, 9]) expect(folded(line)).toBeUndefined();
  });

  it("reads the line of the script in PyTorch's comment", () => {
    expect(sourceLine("        # File: script.py:14 in forward, code: x = 1")).toBe(14);
    expect(sourceLine("        # No stacktrace found for following nodes")).toBeUndefined();
  });
});
