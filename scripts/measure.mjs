// Measures the built page in a browser whose network is slowed down, and writes its section of docs/performance.md: `node scripts/measure.mjs`.
// `node scripts/measure.mjs visits` measures how soon a visitor sees something, and writes nothing.
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { settled, write } from "../tests/e2e/lib/page.mjs";
import { answers, atRest, openAll, pan } from "../tests/e2e/lib/picture.mjs";
import { launch } from "./lib/browser.mjs";
import { ROOT } from "./lib/config.mjs";
import { serve } from "./serve.mjs";

const NETWORK = { offline: false, downloadThroughput: 10e6 / 8, uploadThroughput: 10e6 / 8, latency: 40 };
const TIMES = 5;
/** Runs of one script, one after the other. */
const ROUNDS = 15;
const PAUSE_MS = 250;

const [load = 0] = loadavg();
const server = await serve(`${ROOT}www/dist`, 0);
const browser = await launch();
const address = `http://localhost:${server.address().port}/`;

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const least = (values) => Math.min(...values);
const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(2)} s`;

const milliseconds = (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
const count = (value) => value.toLocaleString("en");

/** A page whose network is slowed down, and what it has transferred. */
async function slowed(context) {
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", NETWORK);
  const network = { bytes: 0 };
  session.on("Network.loadingFinished", ({ encodedDataLength }) => (network.bytes += encodedDataLength));
  return { page, network };
}

/** Opens the page and says when its parts were there, in milliseconds, and what was transferred until the first graphs. */
async function visit(context) {
  const { page, network } = await slowed(context);
  let errors = 0;
  page.on("console", (message) => message.type() === "error" && (errors += 1));
  page.on("pageerror", () => (errors += 1));
  // Times are the page's own: what this script takes to look does not count.
  await page.addInitScript(() => {
    const seen = {};
    const look = () => {
      if (document.querySelector("[data-pane=script] .cm-content")) seen.editor ??= performance.now();
      if (document.querySelector(".graph-text .cm-line")?.textContent) seen.graphs ??= performance.now();
      // The recording has given way to the page's own run.
      if (document.querySelector('.status[data-state="ready"]')?.dataset.ended > 0 && seen.graphs) seen.live ??= performance.now();
    };
    new MutationObserver(look).observe(document, { childList: true, subtree: true, characterData: true, attributes: true });
    globalThis.seen = seen;
  });
  await page.goto(address);
  await page.waitForFunction(() => globalThis.seen?.graphs, undefined, { timeout: 120_000 });
  await page.waitForFunction(() => globalThis.seen?.live, undefined, { timeout: 120_000 });
  return { page, ...(await page.evaluate(() => globalThis.seen)), bytes: network.bytes, errors: () => errors };
}

/** Milliseconds until a frame's script can be read and chosen in, from when it is scrolled to; and what it had transferred before. */
async function frame() {
  const context = await browser.newContext();
  await context.addInitScript(() => {
    const look = () => document.querySelector("[data-pane=script] .cm-content") && (globalThis.readable ??= Date.now());
    new MutationObserver(look).observe(document, { childList: true, subtree: true });
  });
  const { page, network } = await slowed(context);
  await page.setContent(`<div style="height: 1500px"></div><iframe src="${address}embed.html" width="800" height="480"></iframe>`);
  await page.waitForLoadState("networkidle");
  const before = network.bytes;
  const began = await page.evaluate(() => (document.querySelector("iframe").scrollIntoView(), Date.now()));
  const inside = page.frames()[1];
  await inside.waitForFunction(() => globalThis.readable, undefined, { timeout: 60_000 });
  const there = await inside.evaluate(() => globalThis.readable);
  await context.close();
  return { time: there - began, before };
}

/** The longest that typing was held up, and the median time from the last key to the new graphs. */
async function type(page) {
  await watch(page);
  const until = [];
  for (let round = 0; round < TIMES; round += 1) {
    await page.locator("[data-pane=script] .cm-content").click();
    await page.keyboard.press("Control+End");
    let typed;
    await untilRun(page, async () => {
      await page.keyboard.type(`\nvalue_${round} = [i * ${round} for i in range(10)]\n`, { delay: 30 });
      typed = Date.now();
    });
    until.push(Date.now() - typed);
  }
  return { longest: await page.evaluate(() => globalThis.longest), until };
}

/** A block of a transformer, and nothing else. */
const BLOCK = `import torch
from torch import nn
import torch.nn.functional as F

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        split = lambda t: t.view(batch, length, self.heads, -1).transpose(1, 2)
        q, k, v = map(split, self.qkv(self.before(x)).chunk(3, dim=-1))
        scores = (q @ k.transpose(-2, -1) / (width / self.heads) ** 0.5).softmax(-1)
        x = x + self.out((scores @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.after(x))

torch.manual_seed(0)
torch.compile(Block(16, 2))(torch.randn(2, 6, 16)).sum().backward()
`;

/** A two-layer MLP, trained by the interpreter: 300 steps at the pace of the fastest 30. */
const LOOP = `import time, torch
torch.manual_seed(0)
x = torch.randn(64, 10)
y = (x[:, :1] * x[:, 1:2] > 0).float()
model = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

def thirty():
    start = time.perf_counter()
    for _ in range(30):
        optimizer.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(model(x), y).backward()
        optimizer.step()
    return time.perf_counter() - start

print(f"took {10 * min(thirty() for _ in range(10)):.3f}")
`;

/** Does something that leads to a run, and waits for the end of that run. */
async function untilRun(page, cause) {
  const ended = Number(await page.locator(".status").getAttribute("data-ended"));
  await cause();
  await page.waitForFunction((before) => document.querySelector('.status[data-state="ready"]')?.dataset.ended > before, ended, { polling: 10 });
}

/** Milliseconds from the request to the end of a script that was run before, as the page sees them, and the interpreter's part. */
async function again(page) {
  const times = [];
  const took = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await untilRun(page, () => page.getByRole("button", { name: "Run", exact: true }).click());
    // A visitor's pace: between runs the worker gets ready for the next.
    await page.waitForTimeout(PAUSE_MS);
    times.push(Number(await page.locator(".status").getAttribute("data-elapsed")));
    took.push(Number(await page.locator(".status").getAttribute("data-took")));
  }
  return { times, took };
}

/** What a graph of `blocks` transformer blocks costs: layout, the longest hold-up of the page, and frames a second. */
async function picture(blocks, open) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  await answers(blocks)(page);
  await page.goto(address);
  await settled(page);
  await watch(page);
  await page.getByRole("tablist", { name: "View" }).getByRole("tab", { name: "Picture" }).click();
  const host = page.locator(".picture-host[data-layout]");
  await host.waitFor();
  if (open) await openAll(page);
  await atRest(page);
  const found = await host.evaluate(({ dataset }) => ({ nodes: Number(dataset.nodes), layout: Number(dataset.layout) }));
  const longest = await page.evaluate(() => globalThis.longest);
  const { rate } = await pan(page, 180);
  await context.close();
  return { ...found, longest, rate };
}

/** Has the page note its longest task from now on. */
const watch = (page) =>
  page.evaluate(() => {
    globalThis.longest = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) globalThis.longest = Math.max(globalThis.longest, entry.duration);
    }).observe({ type: "longtask" });
  });

const cold = [];
const warm = [];
let errors = 0;
const runsAgain = {};
for (let time = 0; time < TIMES; time += 1) {
  const context = await browser.newContext();
  const first = await visit(context);
  cold.push(first);
  await settled(first.page);
  await first.page.evaluate(() => navigator.serviceWorker.ready);
  await first.page.close();
  const second = await visit(context);
  warm.push(second);
  errors += first.errors() + second.errors();
  await context.close();
}
const frames = [];
for (let time = 0; time < TIMES; time += 1) frames.push(await frame());

/** The least and the median. */
const both = (values, text) => [text(least(values)), text(median(values))];
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`;
const visits = [
  ["first visit: editor", ...both(cold.map(({ editor }) => editor), seconds), "1.5 s"],
  ["first visit: first graphs, recorded", ...both(cold.map(({ graphs }) => graphs), seconds), "2 s"],
  ["first visit: the page's own run in their place", ...both(cold.map(({ live }) => live), seconds), "6 s"],
  ["first visit: transferred until then", ...both(cold.map(({ bytes }) => bytes), megabytes), "4.5 MB"],
  ["later visit: editor", ...both(warm.map(({ editor }) => editor), seconds), ""],
  ["later visit: first graphs, recorded", ...both(warm.map(({ graphs }) => graphs), seconds), "0.8 s"],
  ["later visit: the page's own run in their place", ...both(warm.map(({ live }) => live), seconds), "1.5 s"],
  ["a frame in another page: transferred before it is seen", ...both(frames.map(({ before }) => before), (bytes) => `${(bytes / 1e3).toFixed(1)} kB`), ""],
  ["the same: its script is there, once it is scrolled to", ...both(frames.map(({ time }) => time), seconds), "1 s"],
];
if (process.argv.includes("visits")) {
  for (const row of visits) console.log(row.join(" | "));
  await browser.close();
  process.exit(errors);
}
// In a visit of its own: what is typed is what the next visit opens with.
const context = await browser.newContext();
const { page } = await visit(context);
await settled(page);
runsAgain.mlp = await again(page);
const typing = await type(page);
for (const [name, script] of [["block", BLOCK], ["empty", "pass\n"], ["torch", "import torch\n"]]) {
  await untilRun(page, () => write(page, script));
  runsAgain[name] = await again(page);
}
await untilRun(page, () => write(page, LOOP));
const [, loop] = (await page.locator("[data-pane=output]").textContent()).match(/took ([\d.]+)/);
await context.close();
const large = await picture(70, true);
const huge = await picture(700, false);
const version = browser.version();
await browser.close();
server.closeAllConnections();
server.close();

const rows = [
  ...visits,
  ["typing: longest task in the page", "", milliseconds(typing.longest), "50 ms"],
  ["typing: from the last key to the run's end", ...both(typing.until, seconds), ""],
  ["the example, run again: from the request to the end", ...both(runsAgain.mlp.times, milliseconds), "30 ms"],
  ["a transformer block, run again", ...both(runsAgain.block.times, milliseconds), "60 ms"],
  ["an empty script: the interpreter's part", ...both(runsAgain.empty.took, milliseconds), "5 ms"],
  ["the same, as the page sees it", ...both(runsAgain.empty.times, milliseconds), ""],
  ["`import torch` alone: the interpreter's part", ...both(runsAgain.torch.took, milliseconds), "5 ms"],
  ["the same, as the page sees it", ...both(runsAgain.torch.times, milliseconds), ""],
  ["300 training steps of a small MLP with Adam, by the interpreter", "", `${Number(loop).toFixed(2)} s`, "2 s"],
  [`picture of ${count(large.nodes)} nodes, all modules open: layout, off the main thread`, "", milliseconds(large.layout), "1 s"],
  ["the same, panned", "", `${large.rate.toFixed(0)} frames/s`, "50 frames/s"],
  ["the same: longest task in the page", "", milliseconds(large.longest), ""],
  [`picture of ${count(huge.nodes)} nodes: layout`, "", milliseconds(huge.layout), ""],
  ["the same, panned", "", `${huge.rate.toFixed(0)} frames/s`, ""],
  ["the same: longest task in the page", "", milliseconds(huge.longest), ""],
  ["errors in the console", "", String(errors), "0"],
];
const text = `The built page in headless Chromium ${version}, at 10 Mbit/s and 40 ms, over ${TIMES} visits and ${ROUNDS} runs, on ${cpus().length} cores (${cpus()[0]?.model.trim()}) with a load of ${load.toFixed(1)} before it began and
${(loadavg()[0] ?? 0).toFixed(1)} at the end. Waiting for a core is part of what is measured.

| what | least | median | bar |
|---|---|---|---|
${rows.map((row) => `| ${row.join(" | ")} |`).join("\n")}
`;
const file = `${ROOT}docs/performance.md`;
const [before, rest] = readFileSync(file, "utf8").split("<!-- measured -->\n");
const after = rest?.split("<!-- end -->")[1];
if (after === undefined) throw new Error(`${file} has no section between <!-- measured --> and <!-- end -->`);
writeFileSync(file, `${before}<!-- measured -->\n${text}<!-- end -->${after}`);
console.log(text);
