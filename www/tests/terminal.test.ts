// @vitest-environment node
import { describe, expect, it } from "vitest";
import { type Piece, styled } from "../src/report/terminal";

/** Pieces as one text: `[style words|text](address)`. */
function shown(text: string, style = {}): string {
  const of = ({ text, style, href }: Piece): string => {
    const words = Object.entries(style).map(([name, value]) => (value === true ? name : `${name}=${value}`));
    return words.length > 0 || href ? `[${words.join(" ")}|${text}]${href ? `(${href})` : ""}` : text;
  };
  return styled(text, style).pieces.map(of).join("");
}

describe("what a terminal makes of a text", () => {
  it.each([
    ["plain", "plain"],
    ["\x1b[31mred\x1b[0m and not", "[ink=1|red] and not"],
    ["\x1b[1;4;93mloud\x1b[22;39m less\x1b[m", "[bold underlined ink=11|loud][underlined| less]"],
    ["\x1b[7;2;3;9mx\x1b[27;23;29my\x1b[22mz", "[inverse faint italic struck|x][faint|y]z"],
    ["\x1b[38;5;9ma\x1b[48;5;196mb\x1b[38;5;240mc", "[ink=9|a][ink=9 ground=rgb(255 0 0)|b][ink=rgb(88 88 88) ground=rgb(255 0 0)|c]"],
    ["\x1b[38;2;1;2;3ma\x1b[49;39mb", "[ink=rgb(1 2 3)|a]b"],
    ["\x1b[38;2;1;999;3ma", "a"],
    ["\x1b[38;5;256ma\x1b[38;5ma", "aa"],
    // Cursors, titles, links and unknown ones are left out.
    ["a\x1b[2J\x1b[1;1Hb\x1b]0;title\x07c\x1b]8;;http://x.y\x1b\\d\x1b(Be\x1b7f", "abcdef"],
    ["cut \x1b[3", "cut "],
    ["cut \x1b]8;;http", "cut "],
    ["cut \x1b", "cut "],
    ["\x1b[999999999999999999mx", "x"],
  ])("%j", (text, expected) => expect(shown(text)).toBe(expected));

  it("goes on where an earlier text ended", () => {
    const { style } = styled("\x1b[32mon");
    expect(shown("still\x1b[0m off", style)).toBe("[ink=2|still] off");
  });
});

describe("addresses", () => {
  it.each([
    ["see https://pytorch.org/docs/.", "see [|https://pytorch.org/docs/](https://pytorch.org/docs/)."],
    ["(http://a.b/c?d=e&f#g)", "([|http://a.b/c?d=e&f#g](http://a.b/c?d=e&f#g))"],
    ["https://en.wikipedia.org/wiki/Cut_(graph_theory), too", "[|https://en.wikipedia.org/wiki/Cut_(graph_theory)](https://en.wikipedia.org/wiki/Cut_(graph_theory)), too"],
    ["\x1b[34mhttp://a.b/\x1b[0m", "[ink=4|http://a.b/](http://a.b/)"],
    ['<a href="https://a.b/">', '<a href="[|https://a.b/](https://a.b/)">'],
    // Neither other schemes, nor letters that look like others, nor markup.
    ["javascript://a.b/%0aalert(1) ftp://a.b file:///etc/passwd data:text/html,x", "javascript://a.b/%0aalert(1) ftp://a.b file:///etc/passwd data:text/html,x"],
    ["https://ex\u0430mple.org/", "https://ex\u0430mple.org/"],
    ["http:// https://", "http:// https://"],
  ])("%s", (text, expected) => expect(shown(text)).toBe(expected));

  it("take time that grows with the text alone", () => {
    expect(styled(`http://${"a.".repeat(100_000)}`).pieces.length).toBeLessThan(3);
    expect(styled(`http://a.b/${")".repeat(3000)}`).pieces.map(({ text }) => text).join("")).toHaveLength(3011);
  });
});
