// Opens the built page in Debian's Chromium, as wasm-pack.toml says to start it, and watches it: a test that leaves an
// error in the console has failed. `PAGE` names the folder of another build than www/dist.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, before } from "node:test";
import { launch } from "../../../scripts/lib/browser.mjs";
import { ROOT } from "../../../scripts/lib/config.mjs";
import { serve } from "../../../scripts/serve.mjs";

/** What a test waits for at most: the first start of the interpreter on a busy machine, with room. */
export const PATIENCE_MS = 60_000;

/** A script that compiles one function, with a forward and a backward. */
export const COMPILED = readFileSync(new URL("../recorded/compiled.py", import.meta.url), "utf8");

/**
 * Starts server and browser before a file's tests. `open` gives a page in a fresh profile; `path` begins after the slash.
 * `without` names flags of the browser to leave out; a page's option `elsewhere` is another server's address, and `provoked`
 * a pattern of errors in the console that the test asks for.
 */
export function playground({ without = [] } = {}) {
  let server;
  let browser;
  let contexts = [];
  before(async () => {
    server = await serve(process.env.PAGE ?? `${ROOT}www/dist`, 0);
    browser = await launch({ without });
  });
  after(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
  });
  afterEach(async () => {
    const opened = contexts;
    contexts = [];
    for (const { context, errors } of opened) {
      await context.close();
      assert.deepEqual(errors, [], "errors in the console");
    }
  });

  const base = () => `http://localhost:${server.address().port}/`;
  return {
    base,
    async open(path = "", options = {}) {
      const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"], ...options });
      context.setDefaultTimeout(PATIENCE_MS);
      const errors = [];
      contexts.push({ context, errors });
      const page = await context.newPage();
      page.on("console", (message) => message.type() === "error" && !options.provoked?.test(message.text()) && errors.push(message.text()));
      page.on("pageerror", (error) => errors.push(String(error)));
      const { prepare, elsewhere = base() } = options;
      const tell = (error) => options.provoked?.test(error) || errors.push(error);
      page.on("request", (request) => request.url().startsWith(elsewhere) || tell(`a request to ${request.url()}`));
      await prepare?.(page);
      await page.goto(elsewhere + path);
      return page;
    },
  };
}

/** The script's text, by way of the clipboard: the editor draws only what can be seen. */
export async function text(page) {
  await page.locator("[data-pane=script] .cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Control+c");
  return page.evaluate(() => navigator.clipboard.readText());
}

/** Types a script in the place of what is there. */
export async function write(page, script) {
  await page.locator("[data-pane=script] .cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(script);
}

/** Waits until the last run has ended: in an exception, or not. */
export async function settled(page) {
  await page.locator('.status[data-state="ready"]').filter({ hasText: /Ran in|after|Stopped/ }).waitFor();
}

export const output = (page) => page.locator("[data-pane=output]");

/** Waits until `locator` shows `expected`, a text or a pattern. */
export async function shows(locator, expected) {
  await locator.filter({ hasText: expected }).waitFor();
}

/** Opens one of the graphs. */
export const stage = (page, name) => page.getByRole("tablist", { name: "Stage" }).getByRole("tab", { name }).click();

/** Chooses an option. */
export async function choose(page, label, value) {
  await page.getByRole("button", { name: "Options" }).click();
  await page.locator(".popover:popover-open").getByLabel(label).selectOption(value);
  await page.keyboard.press("Escape");
}

/** Opens one of the examples, by a part of its title. */
export async function example(page, title) {
  await page.getByRole("button", { name: "Examples" }).click();
  await page.locator(".gallery").getByRole("button", { name: title }).click();
}

/** Has the GPU run what is run: where it is a software adapter, the page prefers the CPU. */
export const onGpu = (page) => page.locator("[data-pane=run]").getByLabel("Device", { exact: true }).selectOption("webgpu");

/** Presses Share, and gives what the address then holds after the page: the link is made beside what is shown. */
export async function sharedLink(page) {
  await page.getByRole("button", { name: "Share", exact: true }).click();
  await page.getByLabel("Link", { exact: true }).waitFor();
  return new URL(page.url()).hash;
}
