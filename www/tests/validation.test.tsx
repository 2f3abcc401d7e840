// What validation came to stands below the guards of a graph, with links to the lines that made them.
import { render } from "preact";
import { expect, it } from "vitest";
import type { Sentence, Span, Validation } from "../src/generated/report";
import { ValidationView } from "../src/panes/guards/validation";
import { selection } from "../src/state/selection";

const at = (line: number): Span => ({ line, column: 0, end_line: line, end_column: 0 });
const sentence = (...parts: (string | Span)[]): Sentence => ({
  parts: parts.map((part) => (typeof part === "string" ? { text: part } : { text: `line ${part.line}`, link: { span: part, names: [] } })),
});

it("says the verdict, and what guards leave of each symbol", () => {
  const validation: Validation = {
    verdict: "counterexample",
    sentence: sentence("counterexample: s0 = 6 passes the guards, but not s0 < 6, which tracing asked for at ", at(5)),
    asked: 3,
    symbols: [
      { name: "s0", source: "L['x'].size()[0]", sentence: sentence("3 guards: ", at(5), "; these three leave only 5"), lower: 2, upper: 5, guards: [], only: 5 },
    ],
  };
  const root = document.createElement("div");
  render(<ValidationView of={validation} />, root);
  expect(root.querySelector("p.counterexample")?.textContent).toBe(
    "Validation: counterexample: s0 = 6 passes the guards, but not s0 < 6, which tracing asked for at line 5",
  );
  expect(root.querySelector("dl")?.textContent).toBe("s0 L['x'].size()[0]3 guards: line 5; these three leave only 5");
  root.querySelector<HTMLButtonElement>("dd button")?.click();
  expect(selection.value).toEqual({ from: "guards", span: at(5), names: [] });
});
