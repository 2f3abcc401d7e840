// Runs scripts of a folder in the page's own worker, one after the other: `node tests/e2e/mutants.mjs FOLDER`. What ends the module is a
// failure; a script that runs too long is ended with its worker, as the page ends it. docs/tests.md says where such scripts come from.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { launch } from "../../scripts/lib/browser.mjs";
import { ROOT } from "../../scripts/lib/config.mjs";
import { serve } from "../../scripts/serve.mjs";

const LIMIT_MS = 10_000;
const folder = process.argv[2];
if (!folder) throw new Error("which folder?");

const server = await serve(process.env.PAGE ?? `${ROOT}www/dist`, 0);
const browser = await launch({});
const page = await browser.newPage();
await page.goto(`http://localhost:${server.address().port}/`);
await page.locator('.status[data-state="ready"]').waitFor({ timeout: 60_000 });
const worker = page.workers().find((one) => one.url().includes("interpreter"))?.url();
await page.evaluate(async (url) => {
  const entries = performance.getEntriesByType("resource").map(({ name }) => name);
  const wasm = entries.find((name) => /interpreter_bg.*\.wasm/.test(name));
  const module = await WebAssembly.compileStreaming(fetch(wasm));
  let now;
  const start = () =>
    new Promise((resolve) => {
      now = new Worker(url, { type: "module" });
      now.onmessage = ({ data }) => data.type === "ready" && resolve();
      now.postMessage({ type: "init", module, waited: true });
    });
  globalThis.runScript = async (program, backend, limit) => {
    if (!now) await start();
    const ended = await new Promise((resolve) => {
      const overdue = setTimeout(() => resolve({ kind: "limit" }), limit);
      const end = (outcome) => (clearTimeout(overdue), resolve(outcome));
      now.onerror = (event) => end({ kind: "failed", message: event.message });
      now.onmessage = ({ data }) => {
        if (data.type === "done") end({ kind: "done" });
        if (data.type === "failed") end({ kind: "failed", message: data.message });
      };
      now.postMessage({ type: "run", run: 1, program, files: [], options: { backend } });
    });
    if (ended.kind !== "done") {
      now.terminate();
      now = undefined;
    }
    return ended;
  };
}, worker);

const counts = { done: 0, limit: 0, memory: 0, failed: 0 };
for (const name of readdirSync(folder).filter((one) => one.endsWith(".py")).sort()) {
  const program = readFileSync(join(folder, name), "utf8");
  const backend = ["aot_eager", "inductor"][Number.parseInt(name, 10) % 2] ?? "aot_eager";
  const outcome = await page.evaluate(([text, how, limit]) => globalThis.runScript(text, how, limit), [program, backend, LIMIT_MS]);
  // The memory that the browser gives is used up: said so, it is an end like another.
  const kind = outcome.message?.startsWith("RuntimeError: [enforce fail at alloc_cpu.cpp") ? "memory" : outcome.kind;
  counts[kind] += 1;
  if (kind === "failed") console.log(`${name} ${backend}: ${outcome.message}`);
}
console.log(JSON.stringify(counts));
await browser.close();
server.close();
process.exitCode = counts.failed > 0 ? 1 : 0;
