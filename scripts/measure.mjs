// Measures the built page in a browser whose network is slowed down, and writes docs/measurements.md: `node scripts/measure.mjs`.
import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { launch } from "./lib/browser.mjs";
import { ROOT } from "./lib/config.mjs";
import { serve } from "./serve.mjs";

const NETWORK = { offline: false, downloadThroughput: 10e6 / 8, uploadThroughput: 10e6 / 8, latency: 40 };
const TIMES = 3;

const [load = 0] = loadavg();
const server = await serve(`${ROOT}www/dist`, 0);
const browser = await launch();
const address = `http://localhost:${server.address().port}/`;

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(2)} s`;

/** Opens the page and says when its parts were there, in milliseconds, and what was transferred until the first graphs. */
async function visit(context) {
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", NETWORK);
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  let errors = 0;
  page.on("console", (message) => message.type() === "error" && (errors += 1));
  page.on("pageerror", () => (errors += 1));
  // Times are the page's own: what this script takes to look does not count.
  await page.addInitScript(() => {
    const seen = {};
    const look = () => {
      if (document.querySelector("[data-pane=script] .cm-content")) seen.editor ??= performance.now();
      if (document.querySelector(".graph-text .cm-line")?.textContent) seen.graphs ??= performance.now();
    };
    new MutationObserver(look).observe(document, { childList: true, subtree: true, characterData: true });
    globalThis.seen = seen;
  });
  await page.goto(address);
  const graphs = await page.waitForFunction(() => globalThis.seen?.graphs, undefined, { timeout: 120_000 });
  const editor = await page.evaluate(() => globalThis.seen.editor);
  return { page, editor, graphs: await graphs.jsonValue(), bytes, errors: () => errors };
}

/** The longest that typing was held up, and the median time from the last key to the new graphs. */
async function type(page) {
  await page.evaluate(() => {
    globalThis.longest = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) globalThis.longest = Math.max(globalThis.longest, entry.duration);
    }).observe({ type: "longtask" });
  });
  const until = [];
  for (let round = 0; round < TIMES; round += 1) {
    await page.locator("[data-pane=script] .cm-content").click();
    await page.keyboard.press("Control+End");
    const elapsed = await page.locator(".status").getAttribute("data-elapsed");
    await page.keyboard.type(`\nvalue_${round} = [i * ${round} for i in range(10)]\n`, { delay: 30 });
    const typed = Date.now();
    await page.waitForFunction((before) => document.querySelector('.status[data-state="ready"]')?.dataset.elapsed !== before, elapsed, { polling: 20 });
    until.push(Date.now() - typed);
  }
  return { longest: await page.evaluate(() => globalThis.longest), until: median(until) };
}

const cold = [];
const warm = [];
let typing;
let errors = 0;
for (let time = 0; time < TIMES; time += 1) {
  const context = await browser.newContext();
  const first = await visit(context);
  cold.push(first);
  await first.page.locator('.status[data-state="ready"]').filter({ hasText: "Ran in" }).waitFor();
  await first.page.evaluate(() => navigator.serviceWorker.ready);
  if (time === 0) typing = await type(first.page);
  await first.page.close();
  const second = await visit(context);
  warm.push(second);
  errors += first.errors() + second.errors();
  await context.close();
}
const version = browser.version();
await browser.close();
server.closeAllConnections();
server.close();

const rows = [
  ["first visit: transferred until the first graphs", `${(median(cold.map(({ bytes }) => bytes)) / 1e6).toFixed(2)} MB`, "6 MB"],
  ["first visit: editor", seconds(median(cold.map(({ editor }) => editor))), "1.5 s"],
  ["first visit: first graphs", seconds(median(cold.map(({ graphs }) => graphs))), "6 s"],
  ["later visit: editor", seconds(median(warm.map(({ editor }) => editor))), ""],
  ["later visit: first graphs", seconds(median(warm.map(({ graphs }) => graphs))), "1.5 s"],
  ["typing: longest task in the page", `${typing.longest.toFixed(0)} ms`, "50 ms"],
  ["typing: from the last key to the run's end", seconds(typing.until), ""],
  ["errors in the console", String(errors), "0"],
];
const text = `# Measurements

Written by \`node scripts/measure.mjs\`: the built page in headless Chromium ${version}, at 10 Mbit/s and 40 ms, medians of ${TIMES} visits, on
${cpus().length} cores (${cpus()[0]?.model.trim()}) with a load of ${load.toFixed(1)} before it began: what waits for a core is measured, too.

| what | measured | bar |
|---|---|---|
${rows.map((row) => `| ${row.join(" | ")} |`).join("\n")}
`;
writeFileSync(`${ROOT}docs/measurements.md`, text);
console.log(text);
