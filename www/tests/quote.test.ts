// @vitest-environment node
import { expect, it } from "vitest";
import { plainText, quote, quoteAll } from "../src/report/quote";

it.each([
  ["backend", "“backend”"],
  ["a\nb\t c", "“a b c”"],
  ["x".repeat(41), `“${"x".repeat(40)}…”`],
  ["x".repeat(1_000_000), `“${"x".repeat(40)}…”`],
  // Marks of direction, no-width characters, a control, a tag.
  ["\u202eevil\u202c \u200bspace\u0007 \u{e0041}", "“evil space”"],
  ["🔥".repeat(50), `“${"🔥".repeat(40)}…”`],
])("quotes %j", (text, quoted) => {
  expect(quote(text)).toBe(quoted);
});

it("quotes three and counts the others", () => {
  expect(quoteAll(["a", "b", "c"])).toBe("“a”, “b”, “c”");
  expect(quoteAll(["a", "b", "c", "d", "e"])).toBe("“a”, “b”, “c” and 2 more");
});

it("takes out what has no shape", () => {
  expect(plainText(" a\u2066b\u2069\u00adc\u2028d ")).toBe("abc d");
});
