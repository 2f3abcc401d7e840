import { describe, expect, it } from "vitest";
import { knownLines } from "../src/report/source-lines";
import { looksLikeLog } from "../src/report/recognize";

const LOGS = import.meta.glob<string>(["../../crates/trace/tests/trace/logs/**/*.txt", "!**/explained.txt"], { query: "?raw", import: "default", eager: true });
const SCRIPTS = import.meta.glob<string>("../src/gallery/examples/*.py", { query: "?raw", import: "default", eager: true });

describe("what is pasted or dropped", () => {
  it.each(Object.entries(LOGS))("is a log: %s", (_name, text) => {
    expect(looksLikeLog(text)).toBe(true);
  });

  it.each([
    "class GraphModule(torch.nn.Module):\n    def forward(self, primals_1: \"f32[2]\"):\n        return (primals_1,)",
    "> I1125 10:00:00.000000 1 torch/_functorch/x.py:1] [0/0] [__aot_graphs] TRACED GRAPH",
    "[rank0]:V1125 10:00:00.000000 1 torch/x.py:1] {}",
    "[2023-04-10 12:28:09,922] torch._functorch.aot_autograd.__aot_graphs: [INFO] ====== Joint graph 0 ======",
  ])("is a log or a graph alone: %s", (text) => {
    expect(looksLikeLog(text)).toBe(true);
  });

  it.each(Object.entries(SCRIPTS))("is a script: %s", (_name, text) => {
    expect(looksLikeLog(text)).toBe(false);
  });
});

describe("lines of the program", () => {
  it("are those that comments of graphs name, by file", () => {
    const readable = "# File: /a/b.py:7 in f, code: return x + 1\n  # Backward of forward node: File: /a/b.py:7 in f, code: return x + 1\n    # File: /a/c.py:2 in g, code: y = x\n# File: /a/b.py:3 in f, code: x = x * 2\n";
    expect(knownLines([{ readable, nodes: [] }])).toEqual([
      { file: "/a/b.py", lines: [{ line: 3, code: "x = x * 2" }, { line: 7, code: "return x + 1" }] },
      { file: "/a/c.py", lines: [{ line: 2, code: "y = x" }] },
    ]);
  });
});
