// Times steps of compiled graphs in the built page, as a visitor does: `node scripts/bench.mjs --webgpu [--workloads MLP,PW,CNN,ATT]`.
// benches/workloads.py has the models. A line of JSON for each: the median step and the first one in milliseconds (the first with an
// empty pipeline cache), the dispatches of a step, the pipelines built for it, the bytes that its kernels move; and, of a run on the
// GPU, the loss and the gradients' norms, beside the CPU's of the same run. Without `--webgpu` the CPU takes the steps.
import { readFileSync } from "node:fs";
import { deflateRawSync } from "node:zlib";
import { launch } from "./lib/browser.mjs";
import { ROOT } from "./lib/config.mjs";
import { serve } from "./serve.mjs";

const WORKLOADS = ["MLP", "PW", "CNN", "ATT"];
const PATIENCE_MS = 120_000;

const given = process.argv.indexOf("--workloads");
const wanted = given > 0 ? process.argv[given + 1].split(",") : WORKLOADS;
const device = process.argv.includes("--webgpu") ? "webgpu" : "cpu";
const program = readFileSync(`${ROOT}benches/workloads.py`, "utf8");
const server = await serve(`${ROOT}www/dist`, 0);
const address = `http://localhost:${server.address().port}/`;

const link = (script) => `${address}#v1/${deflateRawSync(JSON.stringify({ p: script })).toString("base64url")}`;

/** Keeps what the GPU's worker tells the page: it is what the page shows. */
function listen() {
  globalThis.told = {};
  globalThis.Worker = class extends Worker {
    constructor(...args) {
      super(...args);
      this.addEventListener("message", ({ data }) => {
        if (data?.type === "timed") (globalThis.told.timed ??= []).push(data.timed);
        if (data?.type === "result") globalThis.told.result = data.result;
        if (data?.type === "refused" || data?.type === "failed") globalThis.told.refused = data.message;
      });
    }
  };
}

/** The loss and the norms of the gradients of the last run. It is called in the page. */
function values() {
  const numbers = (value) => new Float32Array(value.tensor.bytes.slice().buffer);
  const norm = (value) => Math.sqrt(numbers(value).reduce((sum, x) => sum + x * x, 0));
  const { forward, backward } = globalThis.told.result;
  const gradients = backward.outputs.map(({ value }) => value).filter(({ kind }) => kind === "tensor");
  return [numbers(forward.outputs[0].value)[0], ...gradients.map(norm)];
}

async function measure(workload) {
  const browser = await launch();
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await page.addInitScript(listen);
    await page.goto(link(`WORKLOAD = "${workload}"\n${program}`));
    await page.locator("[data-pane=output]").filter({ hasText: `${workload}: loss` }).waitFor();
    await page.getByRole("tab", { name: "Run on GPU" }).click();
    const pane = page.locator("[data-pane=run]");
    const view = (name) => page.getByRole("tablist", { name: "Of this run" }).getByRole("tab", { name }).click();
    const answer = (what) => page.waitForFunction((what) => globalThis.told[what] || globalThis.told.refused, what, { timeout: PATIENCE_MS });

    await view("Timing");
    await pane.getByLabel("Device").selectOption(device);
    if (workload === "MLP") await pane.getByLabel("with an update by SGD").check();
    await pane.getByRole("button", { name: "Time steps" }).click();
    await answer("timed");
    const timed = await page.evaluate(() => globalThis.told.timed?.[0]);
    if (!timed) throw new Error(await page.evaluate(() => globalThis.told.refused));
    await pane.getByRole("button", { name: "Time steps" }).waitFor();

    await view("Values");
    const found = {};
    for (const runner of [device, "cpu"]) {
      await page.evaluate(() => delete globalThis.told.result);
      await pane.getByLabel("Device").selectOption(runner);
      await pane.getByRole("button", { name: "Run forward and backward" }).click();
      await answer("result");
      found[runner] = await page.evaluate(values);
    }
    const sorted = timed.seconds.toSorted((a, b) => a - b);
    return {
      workload,
      ms: sorted[Math.floor(sorted.length / 2)] * 1000,
      first_ms: timed.first_seconds * 1000,
      dispatches: timed.dispatches.length,
      pipelines: timed.pipelines,
      bytes: timed.dispatches.reduce((sum, { bytes }) => sum + bytes[0] + bytes[1], 0),
      device: timed.device.name,
      check: found[device],
      cpu_check: found.cpu,
    };
  } finally {
    await browser.close();
  }
}

let failed = 0;
for (const workload of wanted) {
  try {
    if (!WORKLOADS.includes(workload)) throw new Error("there is no such workload");
    console.log(JSON.stringify(await measure(workload)));
  } catch (error) {
    failed = 1;
    console.error(`${workload}: ${error.message}`);
  }
}
server.closeAllConnections();
server.close();
process.exit(failed);
