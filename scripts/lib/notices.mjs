// Notices of what the page and the command line are made with: crates, npm packages, Python's standard library, and the
// sources of tables and rules (notices/sources.toml). A licence that is absent, or not in `ALLOWED`, ends the build.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseToml, ROOT } from "./config.mjs";
import { packages } from "./packages.mjs";

/** SPDX identifiers of licences that may be shipped; where a package offers several, the first of these is taken. */
export const ALLOWED = [
  "MIT",
  "MIT-0",
  "Apache-2.0",
  "Apache-2.0 WITH LLVM-exception",
  "BSD-2-Clause",
  "BSD-2-Clause-Views",
  "BSD-3-Clause",
  "BSL-1.0",
  "ISC",
  "Zlib",
  "CC0-1.0",
  "Unlicense",
  "PSF-2.0",
  "Unicode-3.0",
  "Unicode-DFS-2016",
  // Of libraries whose source, and what links them, anyone can have and build.
  "LGPL-3.0-only",
];

/** Packages that name a file instead of a licence, and what is in it. */
const IN_A_FILE = { "rustpython-doc": "PSF-2.0", "syn-ext": "BSD-2-Clause" };

/** What the files of licences are called. */
const LICENCE_FILE = /^(licen[cs]e|copying|copyright|notice|unlicen[cs]e|psf-licen[cs]e)/i;

/** The licences that hold for who takes an SPDX expression's best choice; undefined where none is allowed. */
export function choice(expression) {
  const tokens = expression.replaceAll("/", " OR ").match(/[()]|[^\s()]+/g) ?? [];
  const rank = (ids) => Math.max(...ids.map((id) => ALLOWED.indexOf(id)));
  let at = 0;
  const either = () => {
    const options = [both()];
    for (; tokens[at] === "OR"; options.push(both())) at += 1;
    return options.filter(Boolean).sort((a, b) => rank(a) - rank(b))[0];
  };
  const both = () => {
    const parts = [one()];
    for (; tokens[at] === "AND"; parts.push(one())) at += 1;
    return parts.every(Boolean) ? [...new Set(parts.flat())] : undefined;
  };
  const one = () => {
    let id = tokens[at++];
    if (id === "(") {
      const inner = either();
      at += 1;
      return inner;
    }
    if (tokens[at] === "WITH") {
      id = `${id} WITH ${tokens[at + 1]}`;
      at += 2;
    }
    return ALLOWED.includes(id) ? [id] : undefined;
  };
  const found = either();
  return at === tokens.length ? found : undefined;
}

/** The packages with the licences chosen for each; an error names every package that has none that is allowed. */
export function licensed(packages) {
  const chosen = packages.map((one) => ({ ...one, ids: one.licence ? choice(one.licence) : undefined }));
  const refused = chosen.filter(({ ids }) => !ids).map(({ name, version, licence }) => `${name} ${version}: ${licence ?? "no licence"}`);
  if (refused.length > 0) throw new Error(`licences that are not allowed:\n  ${refused.join("\n  ")}`);
  return chosen;
}

/** The crates that a package is linked with, by Cargo's metadata: dependencies of builds and tests are not among them. */
export function linked({ packages, resolve }, root) {
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const found = new Set([packages.find(({ name }) => name === root).id]);
  for (const id of found) {
    for (const { pkg, dep_kinds } of nodes.get(id).deps) if (dep_kinds.some(({ kind }) => kind === null)) found.add(pkg);
  }
  return packages
    .filter(({ id, source }) => found.has(id) && source !== null)
    .map(({ name, version, license, license_file, manifest_path, authors, repository }) => ({
      name,
      version,
      licence: license ?? (license_file ? IN_A_FILE[name] : undefined),
      folder: dirname(manifest_path),
      authors,
      address: repository,
    }));
}

/** The npm packages that are bundled: what package-lock.json does not mark as for development. */
export function bundled(lock, folder) {
  return Object.entries(lock.packages)
    .filter(([path, { dev, devOptional }]) => path && !dev && !devOptional)
    .map(([path, { version, license }]) => ({ name: path.replace(/^.*node_modules\//, ""), version, licence: license, folder: join(folder, path), authors: [] }));
}

/** A licence's usual text, with whose it is. */
function usualText(id, holders) {
  const stored = id === "Apache-2.0" ? "LICENSE-APACHE" : id === "MIT" ? "LICENSE-MIT" : `notices/licences/${id}.txt`;
  if (!existsSync(ROOT + stored)) return undefined;
  const text = readFileSync(ROOT + stored, "utf8").replace(/^Copyright \(c\) The AOT Playground contributors\n/m, "");
  const whose = holders.map((holder) => holder.replace(/ <.*>/, "")).map((holder) => (/copyright/i.test(holder) ? holder : `Copyright (c) ${holder}`));
  return [...whose, "", text.trim()].join("\n").trim();
}

/** The texts that go with a package: its own files, of several licences those that were chosen; else the usual ones. */
export function texts({ name, folder, ids, authors }) {
  const files = folder ? readdirSync(folder).filter((file) => LICENCE_FILE.test(file)).sort() : [];
  const words = ids.map((id) => id.split(/[-\s]/)[0].toLowerCase());
  const named = files.filter((file) => words.some((word) => file.toLowerCase().includes(word === "bsl" ? "boost" : word)));
  const taken = named.length > 0 ? files.filter((file) => named.includes(file) || /^notice/i.test(file)) : files;
  const found = taken.map((file) => readFileSync(join(folder, file), "utf8").trim()).filter(Boolean);
  if (found.length > 0) return found;
  return ids.map((id) => {
    const text = usualText(id, authors);
    if (!text) throw new Error(`${name}: no text of ${id}; put it into notices/licences/${id}.txt`);
    return text;
  });
}

/** What tables and rules come from. */
export function sources() {
  return parseToml(readFileSync(`${ROOT}notices/sources.toml`, "utf8")).source;
}

/** The sources whose licences ask for a notice; a paper, a standard or a measurement has none. */
function licensedSources() {
  return sources()
    .filter(({ licence }) => licence)
    .map(({ name, licence, copyright, text, address }) => ({ name, version: "", licence, authors: copyright ?? [], text, address }));
}

/** The standard library that is frozen into the interpreter. */
function pythonLibrary(packages) {
  const { version, manifest_path } = packages.find(({ name }) => name === "rustpython-pylib");
  const folder = join(dirname(manifest_path), "Lib");
  return { name: "Python's standard library (rustpython-pylib)", version, licence: "PSF-2.0", folder, authors: [], address: "https://docs.python.org/3/license.html" };
}

const metadata = (...flags) =>
  JSON.parse(execFileSync("cargo", ["metadata", "--format-version", "1", "--locked", ...flags], { cwd: ROOT, encoding: "utf8", maxBuffer: 2 ** 30 }));

/** Everything that is shipped: in the page, in the command line, or in both. */
function shipped() {
  const host = /host: (.*)/.exec(execFileSync("rustc", ["-vV"], { cwd: ROOT, encoding: "utf8" }))[1];
  const native = metadata("--filter-platform", host);
  const page = metadata("--filter-platform", "wasm32-unknown-unknown", "--manifest-path", "crates/page/Cargo.toml", "--features", "python,gpu");
  const crates = new Map([...linked(page, "page"), ...linked(native, "aot-playground")].map((one) => [`${one.name} ${one.version}`, one]));
  // Tables of Unicode's that are part of this project.
  const unicode = { name: "names of Unicode's characters", version: "", licence: "Unicode-DFS-2016", folder: `${ROOT}crates/unicode_names`, authors: [] };
  const lock = JSON.parse(readFileSync(`${ROOT}www/package-lock.json`, "utf8"));
  const fetched = packages().map(({ name, version, licence, licence_texts }) => ({ name, version, licence, texts: licence_texts, authors: [], address: `https://pypi.org/project/${name}/` }));
  return [...crates.values(), ...fetched, pythonLibrary(native.packages), unicode, ...bundled(lock, `${ROOT}www`), ...licensedSources()];
}

const title = ({ name, version }) => `${name} ${version}`.trim();

/** Each text once, after the names it goes with. */
function textsOnce(packages) {
  const holders = new Map();
  for (const one of packages) {
    for (const text of one.texts?.length > 0 ? one.texts : one.text ? [readFileSync(`${ROOT}notices/licences/${one.text}`, "utf8").trim()] : texts(one)) {
      // Copies that differ in white space alone are one text.
      const key = text.replace(/\s+/g, " ");
      const known = holders.get(key) ?? { text, names: [] };
      known.names.push(title(one));
      holders.set(key, known);
    }
  }
  const line = "-".repeat(80);
  return [...holders.values()].flatMap(({ text, names }) => [line, names.join("\n"), line, "", text.replaceAll("\r\n", "\n"), ""]);
}

/** The notices of a file that holds a report: npm packages alone are in it. */
export function viewerNotices() {
  const lock = JSON.parse(readFileSync(`${ROOT}www/package-lock.json`, "utf8"));
  return ["What this file is made with, beside AOT Playground, which is under MIT or Apache-2.0", "", ...textsOnce(licensed(bundled(lock, `${ROOT}www`)))].join("\n");
}

/** The file: what there is with its licence, where tables come from, and each text once, after the names it goes with. */
export function notices() {
  const packages = licensed(shipped()).sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
  return [
    "What AOT Playground is made with",
    "",
    "AOT Playground itself is under MIT or Apache-2.0. What follows is part of the page or of the command line.",
    "",
    ...packages.map((one) => `${title(one)}: ${one.ids.join(" and ")}${one.address ? `, ${one.address}` : ""}`),
    "",
    "Where tables of numbers and rules come from",
    "",
    ...sources().map(({ name, what, work }) => `${name}: ${what}${work ? ` (${work})` : ""}`),
    "",
    ...textsOnce(packages),
  ].join("\n");
}
