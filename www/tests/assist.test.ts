import { CompletionContext } from "@codemirror/autocomplete";
import { EditorState } from "@codemirror/state";
import { python } from "@codemirror/lang-python";
import { expect, test } from "vitest";
import { complete, explained } from "../src/editor/assist";
import { imports, lookup, names, owner, parse, support } from "../src/editor/known";

const HEAD = "import torch, math\nimport torch.nn.functional as F\nfrom torch import nn, optim as o\nfrom torch.nn import (\n    Linear,  # one\n    ReLU as R,\n)\n";

function after(line: string): string[] {
  const text = HEAD + line;
  const state = EditorState.create({ doc: text, extensions: [python()] });
  return (complete(new CompletionContext(state, text.length, true))?.options ?? []).map(({ label }) => label);
}

test("imports say what names stand for", () => {
  expect(Object.fromEntries(imports(HEAD))).toEqual({
    torch: "torch",
    math: "math",
    F: "torch.nn.functional",
    nn: "torch.nn",
    o: "torch.optim",
    Linear: "torch.nn.Linear",
    R: "torch.nn.ReLU",
  });
});

test("what stands before a dot is a module, perhaps a tensor, or neither", () => {
  const imported = imports(HEAD);
  const of = (before: string) => owner(before, imported, names());
  expect(of("y = torch.")).toBe("torch");
  expect(of("F.")).toBe("torch.nn.functional");
  expect(of("torch.linalg.")).toBe("torch.linalg");
  expect(of("x.")).toBe("torch.Tensor");
  expect(of("self.weight.")).toBe("torch.Tensor");
  expect(of("torch.randn(3).")).toBe("torch.Tensor");
  expect(of("x[0].")).toBe("torch.Tensor");
  expect(of("math.")).toBeUndefined();
  expect(of("self.")).toBeUndefined();
  expect(of("nn.Linear.")).toBeUndefined();
  expect(of("")).toBeUndefined();
});

test("completions are the members of what stands before the dot", () => {
  expect(after("torch.")).toEqual(expect.arrayContaining(["randn", "compile", "einsum"]));
  expect(after("F.re")).toEqual(expect.arrayContaining(["relu", "cross_entropy"]));
  expect(after("nn.")).toEqual(expect.arrayContaining(["Linear", "MultiheadAttention"]));
  expect(after("o.")).toEqual(expect.arrayContaining(["Adam", "SGD"]));
  expect(after("x.")).toEqual(expect.arrayContaining(["view", "add_", "backward"]));
  expect(after("x.")).not.toContain("Linear");
  expect(after("math.")).toEqual([]);
  expect(after("rel")).toEqual([]);
});

test("a name is explained by its signature, words and support", () => {
  const line = "    y = F.relu(torch.linalg.qr(x)[0].add_(1))";
  const at = (word: string) => lookup(line, line.indexOf(word) + 1, HEAD + line, names());
  expect(at("relu")?.path).toBe("torch.nn.functional.relu");
  expect(at("qr")?.path).toBe("torch.linalg.qr");
  expect(at("add_")?.path).toBe("torch.Tensor.add_");
  expect(at("torch")).toBeUndefined();
  expect(lookup("Linear(2, 3)", 2, HEAD, names())?.path).toBe("torch.nn.Linear");
  expect(lookup("R()", 0, HEAD, names())?.path).toBe("torch.nn.ReLU");
  expect(lookup("# torch.add", 9, HEAD, names())).toBeUndefined();
  expect(lookup('print("torch.add")', 15, HEAD, names())).toBeUndefined();
  expect(lookup("1 + 2", 0, HEAD, names())).toBeUndefined();
});

test("support is said in words, as text", () => {
  const list = parse("torch.f\t(a, b)\tDoes `<b>`.\tkernel\tnone\ton CPU\ntorch.g\t(x)\tWords.\n");
  const [f, g] = [list.get("torch")?.get("f"), list.get("torch")?.get("g")];
  if (!f || !g) throw new Error("not parsed");
  expect(support(f)).toBe("a kernel of its own · no gradient · on the CPU only");
  expect(support(g)).toBeUndefined();
  expect([...explained("torch.f", f).children].map((part) => part.textContent)).toEqual([
    "torch.f(a, b)",
    "Does <b>.",
    "a kernel of its own · no gradient · on the CPU only",
  ]);
});
