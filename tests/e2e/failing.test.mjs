// What can fail around a run: the network, memory, a device that is too slow, a page of another version. Each ends in a sentence and a button, and the script stays.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { choose, onGpu, output, playground, settled, shows, text, write } from "./lib/page.mjs";

const MINE = 'import torch\nprint("mine, and dear")\n';

describe("a network that fails", () => {
  const pages = playground();
  // Without a service worker, which would fetch what the test keeps away.
  const failing = { provoked: /Failed to load resource|net::ERR/, serviceWorkers: "block" };

  it("before the interpreter has arrived is said, and it can be loaded again", async () => {
    const gone = /\/interpreter_bg.*\.wasm/;
    const page = await pages.open("", { ...failing, prepare: (page) => page.route(gone, (route) => route.abort()) });
    await shows(page.locator(".status"), "The interpreter could not be loaded");
    await write(page, MINE);
    await page.unroute(gone);
    await page.getByRole("button", { name: "Load again" }).click();
    await shows(output(page), "mine, and dear");
    assert.equal(await text(page), MINE);
  });

  it("before the rest of the library has arrived is an exception of the script's", async () => {
    const page = await pages.open("", { ...failing, prepare: (page) => page.route(/\/library.*\.bin/, (route) => route.abort()) });
    await settled(page);
    await write(page, "import datetime\nprint(datetime.date(2026, 1, 2))\n");
    await shows(output(page), /the rest of the library could not be fetched/);
    await page.unroute(/\/library.*\.bin/);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await shows(output(page), "2026-01-02");
  });

  it("before the GPU's module has arrived is said, and the next run runs", async () => {
    const gone = /\/gpu_bg.*\.wasm/;
    const page = await pages.open("", { ...failing, prepare: (page) => page.route(gone, (route) => route.abort()) });
    await settled(page);
    await page.getByRole("tab", { name: "Run on GPU" }).click();
    await onGpu(page);
    const run = page.getByRole("button", { name: "Run forward and backward" });
    await run.click();
    await page.locator("[data-pane=run] .note.error").waitFor();
    await page.unroute(gone);
    await run.click();
    await page.locator("[data-pane=run] .summary").waitFor();
  });
});

describe("a page of another version in another tab", () => {
  const pages = playground();

  it("keeps scripts in a form that this one can't read: they can be downloaded, and stay", async () => {
    const page = await pages.open();
    await write(page, MINE);
    await shows(output(page), "mine, and dear");
    const other = await page.context().newPage();
    await other.goto(pages.base());
    await shows(output(other), "mine, and dear");
    const theirs = '{"version":2,"scripts":["theirs"]}';
    await other.evaluate((text) => localStorage.setItem("aot-playground/script", text), theirs);
    await write(page, `${MINE}print("and longer")\n`);
    await shows(output(page), "and longer");
    await shows(page.locator(".notice"), "in a form that this version of the page can't read");
    const downloaded = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download it" }).click();
    assert.equal(await readFile(await (await downloaded).path(), "utf8"), theirs);
    await other.close();
    await page.reload();
    await shows(output(page), "and longer");
  });
});

describe("a script that uses up the memory", () => {
  const pages = playground();

  it("is ended with the bytes that it asked for; the next run has an interpreter", async () => {
    const page = await pages.open("", { provoked: /RuntimeError|unreachable|memory/ });
    await settled(page);
    // A busy machine takes its time to give so much.
    await choose(page, "Time limit", "60");
    await write(page, "print('began')\nkept = []\nwhile True:\n    kept.append(bytearray(2**30))\n");
    await shows(output(page), /can't allocate memory: you tried to allocate \d+ bytes/);
    await shows(output(page), "began");
    await write(page, MINE);
    await shows(output(page), "mine, and dear");
  });

  it("by tensors raises what PyTorch raises, and may go on", async () => {
    const page = await pages.open();
    await settled(page);
    await choose(page, "Time limit", "60");
    await write(page, "import torch\ntry:\n    kept = [torch.ones(2**27) for _ in range(100)]\nexcept RuntimeError as error:\n    print(error)\nprint('went on')\n");
    await shows(output(page), /can't allocate memory: you tried to allocate 536870912 bytes[^]*went on/);
  });
});

describe("a worker that has ended", () => {
  const pages = playground();

  it("is replaced when its script has had its time; the next run runs", async () => {
    const page = await pages.open();
    await settled(page);
    const worker = page.workers().find((one) => one.url().includes("interpreter"));
    // It answers before it ends.
    await worker.evaluate(() => void setTimeout(() => self.close()));
    await write(page, "print('to nobody')\n");
    await shows(output(page), "Stopped after 10.0 s");
    await write(page, MINE);
    await shows(output(page), "mine, and dear");
  });
});

describe("a run on the device that does not end", () => {
  const pages = playground();

  /** A page that has run on the device, and whose device has not answered since. */
  async function silent(options = {}) {
    const page = await pages.open("", options);
    await write(page, "import torch\nprint(torch.compile(lambda x: x.sin())(torch.zeros(3)))\n");
    await shows(output(page), "tensor([0., 0., 0.])");
    await page.getByRole("tab", { name: "Run on GPU" }).click();
    const pane = page.locator("[data-pane=run]");
    await onGpu(page);
    const run = pane.getByRole("button", { name: "Run forward", exact: true });
    await run.click();
    await pane.locator(".summary").waitFor();
    const worker = page.workers().find((one) => one.url().includes("gpu.worker"));
    await worker.evaluate(() => {
      GPUQueue.prototype.submit = () => {};
      GPUBuffer.prototype.mapAsync = () => new Promise(() => {});
    });
    await run.click();
    await pane.getByRole("button", { name: "Running…" }).waitFor();
    return { page, pane, run };
  }

  it("can be cancelled, and the next run runs", async () => {
    const { pane, run } = await silent();
    await pane.getByRole("button", { name: "Cancel" }).click();
    await shows(pane.locator(".note.error"), /Cancelled\. Nothing is lost/);
    await run.click();
    await pane.locator(".summary").waitFor();
  });

  it("is ended after a time, and the next run runs", async () => {
    // The page's clock is the test's: a minute passes when it says so.
    const { page, pane, run } = await silent({ prepare: (page) => page.clock.install() });
    await page.clock.fastForward(60_000);
    await shows(pane.locator(".note.error"), "the device has not answered for 60 seconds");
    await run.click();
    await pane.locator(".summary").waitFor();
  });

  it("can be cancelled while its module is fetched", async () => {
    const module = /\/gpu_bg.*\.wasm/;
    const page = await pages.open("", { serviceWorkers: "block", prepare: (page) => page.route(module, () => {}) });
    await settled(page);
    await page.getByRole("tab", { name: "Run on GPU" }).click();
    const pane = page.locator("[data-pane=run]");
    await pane.getByRole("button", { name: "Run forward and backward" }).click();
    await pane.getByRole("button", { name: "Cancel" }).click();
    await shows(pane.locator(".note.error"), "Cancelled.");
  });
});
