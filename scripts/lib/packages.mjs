// Packages that scripts may import and that are no part of the repository (src/python/packages.txt): scripts/packages.py fetches them into
// target/packages. Without a network, or without pip, the build goes on without them and says so.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { ROOT } from "./config.mjs";

const FETCHED = `${ROOT}target/packages/`;
const SERVED = `${ROOT}www/pkg/packages/`;

/** The packages that were fetched, as they are in their files. */
export function packages() {
  const listed = readFileSync(`${ROOT}src/python/packages.txt`, "utf8").split("\n");
  const files = existsSync(FETCHED) ? readdirSync(FETCHED).filter((file) => file.endsWith(".json")).sort() : [];
  const all = files.map((file) => ({ file, ...JSON.parse(readFileSync(FETCHED + file, "utf8")) }));
  return all.filter(({ requirement }) => listed.includes(requirement));
}

export function fetchPackages() {
  const { status, error } = spawnSync("python3", [`${ROOT}scripts/packages.py`], { stdio: "inherit" });
  if (status !== 0) console.warn(`Packages could not be fetched${error ? ` (${error.message})` : ""}: what is built has ${packages().map(({ name }) => name).join(", ") || "none"}.`);
}

/** Puts them where the page's build takes them from. */
export function copyPackages() {
  rmSync(SERVED, { recursive: true, force: true });
  mkdirSync(SERVED, { recursive: true });
  for (const { file } of packages()) cpSync(FETCHED + file, SERVED + file);
}
