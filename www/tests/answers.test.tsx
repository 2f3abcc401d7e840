// The sentences on top of Guards, as links, with the settings that PyTorch hints at.
import { render } from "preact";
import { expect, it } from "vitest";
import type { Sentence, Span } from "../src/generated/report";
import { emptyReport } from "../src/report/fold";
import { SentenceText } from "../src/ui/sentence";
import { selection } from "../src/state/selection";
import { shown, type Run } from "../src/state/session";
import { GuardsView } from "../src/panes/guards/pane";

const at = (line: number): Span => ({ line, column: 0, end_line: line, end_column: 0 });
const sentence = (...parts: (string | [string, Span])[]): Sentence => ({
  parts: parts.map((part) => (typeof part === "string" ? { text: part } : { text: part[0], link: { span: part[1], names: [] } })),
});

function mount(node: preact.ComponentChild): HTMLElement {
  const root = document.createElement("div");
  document.body.append(root);
  render(node, root);
  return root;
}

it("makes links of the parts of a sentence that name something", () => {
  const root = mount(<SentenceText of={sentence("Peak 3 B: from ", ["line 28", at(28)], ".")} from="memory" />);
  expect(root.textContent).toBe("Peak 3 B: from line 28.");
  root.querySelector("button")?.click();
  expect(selection.value).toEqual({ from: "memory", span: at(28), names: [] });
});

it("says on top of Guards why frames were compiled again and where graphs break", () => {
  const line = "torch._dynamo.config.capture_scalar_outputs = True";
  const report = {
    ...emptyReport(),
    recompiles: [["0/0: k == 1"], ["0/1: k == 2"]],
    misses: [{ id: 0, causes: [{ sentence: sentence("k == n (", ["line 9", at(9)], "): 2 of 2 cache misses of f [0]"), count: 2 }] }],
    breaks: [1, 2, 3].map(() => ({ reason: "item", span: at(4) })),
    break_places: [
      { id: 0, sentence: sentence(["line 4", at(4)], ": item, 3 times"), count: 3, explanation: "It is not traced.", hints: [`Set \`${line}\``], url: "https://example.org/gb0124.html", setting: line },
    ],
  };
  shown.value = { program: "", report, printed: [], bundles: new Map(), timeline: undefined, outcome: { kind: "finished" }, elapsed: 0, took: 0 } as unknown as Run;
  const root = mount(<GuardsView />);
  const sections = [...root.querySelectorAll("section.answers")].map((section) => section.textContent);
  expect(sections).toEqual([
    "Why frames recompile, by the guard of the newest entryk == n (line 9): 2 of 2 cache misses of f [0]",
    `3 graph breaks, at one placeline 4: item, 3 timesIt is not traced.Hint: Set ${line}PyTorch on graph breaks of this kindCopy the lineRun with capture_scalar_outputs`,
  ]);
  expect(root.querySelector("a")?.getAttribute("href")).toBe("https://example.org/gb0124.html");
  expect(root.querySelector("details.raw summary")?.textContent).toBe("2 recompiles");
  expect(root.querySelector("details.raw")?.hasAttribute("open")).toBe(false);
});
