// The page without a network, and when a newer version of it is there.
import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { ROOT } from "../../scripts/lib/config.mjs";
import { serve } from "../../scripts/serve.mjs";
import { COMPILED, output, playground, settled, shows, stage, write } from "./lib/page.mjs";

/** Waits until every file is kept. */
const kept = (page) => page.evaluate(() => navigator.serviceWorker.ready.then(({ active }) => new Promise((done) => (active.state === "activated" ? done() : active.addEventListener("statechange", () => done())))));

describe("a page that was visited", () => {
  const pages = playground();

  it("works without a network: runs, every dialog, exports, a run on the GPU", async () => {
    const page = await pages.open();
    await settled(page);
    await kept(page);
    await page.context().setOffline(true);
    await page.reload();
    await settled(page);
    await write(page, COMPILED);
    await stage(page, "Backward");
    await shows(page.locator(".graph-text"), "aten.cos");
    await write(page, `import datetime\n${COMPILED}print(datetime.date(2026, 1, 2))\n`);
    await shows(output(page), "2026-01-02");
    for (const [name, shown] of [["Examples", ".gallery"], ["Help", ".stages"]]) {
      await page.getByRole("button", { name }).click();
      await page.locator(shown).waitFor();
      await page.keyboard.press("Escape");
    }
    await page.getByRole("tab", { name: "Run on GPU" }).click();
    await page.getByRole("button", { name: "Run forward and backward" }).click();
    await page.locator("[data-pane=run] .summary").waitFor();
    await page.getByRole("button", { name: "Share" }).click();
    await page.getByRole("button", { name: "Export" }).click();
    await shows(page.locator("pre.preview-text"), "class GraphModule");
  });
});

describe("a host for files alone", () => {
  const pages = playground();
  let server;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  it("serves the page under any path, and workers get their policy all the same", async () => {
    server = await serve(process.env.PAGE ?? `${ROOT}www/dist`, 0, { under: "/some/path/", bare: true });
    const page = await pages.open("", { elsewhere: `http://localhost:${server.address().port}/some/path/` });
    await settled(page);
    await kept(page);
    await page.reload();
    await settled(page);
    const policies = await page.evaluate(async () => {
      const found = [];
      for (const { name } of performance.getEntriesByType("resource").filter(({ name }) => name.includes(".worker"))) found.push((await fetch(name)).headers.get("Content-Security-Policy"));
      return found;
    });
    assert.ok(policies.length > 0);
    for (const policy of policies) assert.match(policy, /default-src 'none'/);
    await page.getByRole("button", { name: "Help" }).click();
    await page.getByRole("link", { name: "The operators that are there" }).click();
    await shows(page.locator("#count"), /of \d+/);
  });
});

describe("a newer version", () => {
  const pages = playground();
  let folder;
  let server;
  afterEach(async () => {
    server?.closeAllConnections();
    server?.close();
    if (folder) await rm(folder, { recursive: true });
  });

  /** A tab of a version of the page, and what brings a newer one to the server. */
  async function withNewer() {
    folder = await mkdtemp(join(tmpdir(), "playground-"));
    await cp(`${ROOT}www/dist`, folder, { recursive: true, filter: (name) => !name.endsWith(".br") });
    server = await serve(folder, 0);
    const address = `http://localhost:${server.address().port}/`;
    const page = await pages.open("", { elsewhere: address });
    await settled(page);
    await kept(page);
    await write(page, 'print("mine")');
    await shows(output(page), "mine");
    // Another build: its files have other names or other content, and its service worker another version.
    const bring = async () => {
      const index = await readFile(join(folder, "index.html"), "utf8");
      await writeFile(join(folder, "index.html"), index.replace('<html lang="en"', '<html lang="en" class="newer"'));
      const worker = await readFile(join(folder, "sw.js"), "utf8");
      await writeFile(join(folder, "sw.js"), worker.replace(/version\\":\\"\w+/, 'version\\":\\"newer'));
    };
    return { page, address, bring };
  }
  const isNewer = (page) => page.locator("html.newer").waitFor();

  it("is offered, and loses nothing", async () => {
    const { page, bring } = await withNewer();
    await bring();
    await page.reload();
    assert.equal(await page.locator("html.newer").count(), 0);
    await shows(page.locator(".notice"), "A newer version of this page has arrived.");
    await page.getByRole("button", { name: "Use it" }).click();
    await isNewer(page);
    await shows(output(page), "mine");
    assert.equal((await page.evaluate(() => caches.keys())).length, 1);
  });

  it("that another tab has let take over is offered here, too", async () => {
    const { page, address, bring } = await withNewer();
    await bring();
    const other = await page.context().newPage();
    await other.goto(address);
    await other.getByRole("button", { name: "Use it" }).click();
    await isNewer(other);
    await write(page, 'print("mine, edited")');
    await shows(output(page), "mine, edited");
    await shows(page.locator(".notice"), "A newer version of this page has arrived.");
    await page.getByRole("button", { name: "Use it" }).click();
    await isNewer(page);
    await shows(output(page), "mine, edited");
  });
});
