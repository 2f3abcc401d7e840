import { describe, expect, it } from "vitest";
import { frameMarkup, markdownLink, markdownWithCode, titleOf } from "../src/exports/text";

describe("a script in Markdown", () => {
  it.each([
    ['"""An MLP.\n\nMore."""\n', "An MLP."],
    ["# In-place writes\nx = 1\n", "In-place writes"],
    ["'one line'\n", "one line"],
    ["import torch\n", "PyTorch script in the AOT Playground"],
  ])("takes its title from %j", (program, title) => expect(titleOf(program)).toBe(title));

  it("cannot end its own link", () => {
    expect(markdownLink("# a](http://b) [c\n", "http://h/#v2/x")).toBe("[a\\](http://b) \\[c](http://h/#v2/x)");
  });

  it("cannot close its own fence", () => {
    const text = markdownWithCode('print("""```""")', "http://h/");
    expect(text).toMatch(/\n````python\nprint\("""```"""\)\n````\n$/);
  });
});

it("a frame carries the link and asks for the view that only shows", () => {
  expect(frameMarkup("http://h/page/#v2/abc")).toContain('src="http://h/page/embed.html#v2/abc"');
  const markup = frameMarkup("http://h/page/?x#v2/abc", { panes: "script,saved", theme: "dark", fits: true });
  expect(markup).toContain('src="http://h/page/embed.html?panes=script,saved&amp;theme=dark&amp;height=fit#v2/abc"');
  expect(markup).toContain("data.height");
  expect(frameMarkup("http://h/index.html#v2/abc", { only: "picture" })).toContain('src="http://h/embed.html?only=picture#v2/abc"');
});
