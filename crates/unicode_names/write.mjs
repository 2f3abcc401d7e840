// Writes names.txt from two files of the Unicode Character Database:
//   node write.mjs UnicodeData.txt NameAliases.txt >names.txt
// Three paragraphs: names, ranges of unified ideographs, aliases. lib.rs says what their lines mean and reads them.

import { readFileSync } from "node:fs";

const [data, aliases] = process.argv.slice(2).map((path) => readFileSync(path, "utf8"));
const fields = (text) => text.split("\n").filter((line) => line && !line.startsWith("#")).map((line) => line.split(";"));
const words = (name) => name.match(/[^ -]+[ -]?|[ -]/g);

const names = [];
const ranges = [];
let next = 0;
let before = [];
let first;
for (const [hex, name] of fields(data)) {
  const code = parseInt(hex, 16);
  if (name.startsWith("<CJK Ideograph")) {
    if (name.endsWith("First>")) first = hex;
    else ranges.push(`${first} ${hex}`);
  }
  if (name.startsWith("<")) continue;
  if (code !== next) names.push(`+${(code - next).toString(16).toUpperCase()}`);
  next = code + 1;
  const own = `-${code.toString(16).toUpperCase()}`;
  const here = words(name.endsWith(own) ? `${name.slice(0, 1 - own.length)}*` : name);
  let shared = 0;
  while (shared < 9 && shared < here.length && here[shared] === before[shared]) shared += 1;
  names.push((shared || "") + here.slice(shared).join(""));
  before = here;
}
const others = fields(aliases).map(([hex, name]) => `${hex} ${name}`);
process.stdout.write([names, ranges, others].map((lines) => `${lines.join("\n")}\n`).join("\n"));
