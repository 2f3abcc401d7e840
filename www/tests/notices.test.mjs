// @vitest-environment node
// Licences that are shipped, and the sources that tables of numbers name.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseToml, ROOT } from "../../scripts/lib/config.mjs";
import { ALLOWED, bundled, choice, licensed, linked, sources, texts } from "../../scripts/lib/notices.mjs";

test("of an expression the licences that hold are taken", () => {
  expect(choice("MIT")).toEqual(["MIT"]);
  expect(choice("Apache-2.0/MIT")).toEqual(["MIT"]);
  expect(choice("GPL-3.0-only OR Zlib")).toEqual(["Zlib"]);
  expect(choice("(MIT OR Apache-2.0) AND Unicode-3.0")).toEqual(["MIT", "Unicode-3.0"]);
  expect(choice("Apache-2.0 WITH LLVM-exception OR GPL-2.0")).toEqual(["Apache-2.0 WITH LLVM-exception"]);
  expect(choice("MIT AND GPL-3.0-only")).toBeUndefined();
  expect(choice("MIT )")).toBeUndefined();
  expect(choice("")).toBeUndefined();
});

test("an unknown or absent licence is an error that names every package", () => {
  const known = { name: "a", version: "1", licence: "MIT" };
  expect(licensed([known])).toEqual([{ ...known, ids: ["MIT"] }]);
  const others = [known, { name: "b", version: "2", licence: "AGPL-3.0" }, { name: "c", version: "3" }];
  expect(() => licensed(others)).toThrow("licences that are not allowed:\n  b 2: AGPL-3.0\n  c 3: no licence");
});

test("what builds and tests need is not shipped", () => {
  const crate = (name, source = "registry") => ({ id: name, name, version: "1", source, license: "MIT", manifest_path: `/crates/${name}/Cargo.toml`, authors: [] });
  const edge = (pkg, kind) => ({ pkg, dep_kinds: [{ kind }] });
  const nodes = [{ id: "page", deps: [edge("a", null), edge("tests", "dev"), edge("builds", "build")] }, { id: "a", deps: [edge("b", null)] }, { id: "b", deps: [] }];
  const metadata = { packages: [crate("page", null), crate("a"), crate("b"), crate("tests"), crate("builds")], resolve: { nodes } };
  expect(linked(metadata, "page").map(({ name }) => name)).toEqual(["a", "b"]);
  const lock = { packages: { "": {}, "node_modules/@x/y": { version: "1", license: "MIT" }, "node_modules/z": { version: "2", license: "MIT", dev: true } } };
  expect(bundled(lock, "/www").map(({ name, folder }) => [name, folder])).toEqual([["@x/y", "/www/node_modules/@x/y"]]);
});

test("each kind of licence has its text, with whose it is", () => {
  expect(texts({ name: "a", ids: ["MIT"], authors: ["Ada <ada@example.org>"] })[0]).toMatch(/^Copyright \(c\) Ada\n\nMIT License/);
  expect(() => texts({ name: "a", ids: ["ISC"], authors: [] })).toThrow("no text of ISC");
  for (const { name, licence } of sources()) if (licence) expect(ALLOWED, name).toContain(licence);
});

/** The files below a folder that code is in, with their text. */
function files(folder) {
  return readdirSync(ROOT + folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((name) => /\.(rs|py)$/.test(name) && !/(^|\/)(tests|target)\//.test(name))
    .map((name) => ({ name, text: readFileSync(ROOT + name, "utf8") }));
}

const CODE = [...files("src"), ...files("crates")];

/** The name after each `Source: ` of a text, up to a comma, a semicolon or the line's end. */
const named = (text) => [...text.matchAll(/(?:\/\/|#|"""|^\s*\*).*?\bSource: ([^,;:"\n]+)/gm)].map(([, name]) => name.replace(/\.$/, ""));

test("the sources that comments name are those of notices/sources.toml", () => {
  const known = sources().map(({ name }) => name);
  const used = new Set(CODE.flatMap(({ name, text }) => named(text).map((source) => (known.includes(source) ? source : `${name}: ${source}`))));
  expect([...used].filter((source) => !known.includes(source))).toEqual([]);
  expect(known.filter((source) => source !== "PyTorch" && !used.has(source))).toEqual([]);
});

test("every table of numbers names its source", () => {
  const table = /[[(]\s*(-?\d[\w.+-]*\s*,\s*){3,}(-?\d[\w.+-]*\s*,?\s*)[\])]/g;
  const long = (number) => number.replace(/e.*|_?f(32|64)$/i, "").replace(/\D/g, "").replace(/^0+/, "").length >= 6;
  const silent = CODE.flatMap(({ name, text }) =>
    [...text.matchAll(table)]
      .filter(([found]) => found.match(/-?\d[\w.+-]*/g).filter(long).length >= 3)
      .filter(({ index }) => {
        const before = text.slice(0, index).split("\n");
        return named(before.slice(-SEEN).join("\n")).length === 0;
      })
      .map(({ index }) => `${name}:${text.slice(0, index).split("\n").length}`),
  );
  expect(silent).toEqual([]);
});

/** How many lines above a table its source stands at most: a function's comment is above its tables. */
const SEEN = 30;

test("cargo deny goes by the same licences", () => {
  expect(parseToml(readFileSync(`${ROOT}deny.toml`, "utf8")).licenses.allow).toEqual(ALLOWED);
});
