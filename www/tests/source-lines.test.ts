// Which file of a log's program a script is that is given beside the log.
import { expect, it } from "vitest";
import { fitOf, knownLines } from "../src/report/source-lines";

const readable = ["    # File: /home/u/a.py:2 in f, code: return x * 2", "    mul = x * 2", "    # File: /home/u/nn/b.py:1 in g, code: y = x + 1", "    add = x + 1"].join("\n");
const known = knownLines([{ readable, nodes: [] }]);

it("is the one of its name, with how well its lines fit", () => {
  expect(known.map(({ file }) => file)).toEqual(["/home/u/a.py", "/home/u/nn/b.py"]);
  expect(fitOf("a.py", "def f(x):\n    return x * 2\n", known)).toEqual({ file: "/home/u/a.py", same: 1, other: 0 });
  expect(fitOf("folder/a.py", "\n\n", known)).toEqual({ file: "/home/u/a.py", same: 0, other: 1 });
});

it("is else the one whose lines stand in it, or none", () => {
  expect(fitOf("renamed.py", "y = x + 1\n", known)).toEqual({ file: "/home/u/nn/b.py", same: 1, other: 0 });
  expect(fitOf("other.py", "print(1)\n", known)).toBeUndefined();
  // Of a log that was cut, the name alone is known.
  const cut = knownLines([{ readable: "    # File: a.py:2 in f, code: ", nodes: [] }]);
  expect(fitOf("a.py", "print(1)\n", cut)).toEqual({ file: "a.py", same: 0, other: 0 });
});
