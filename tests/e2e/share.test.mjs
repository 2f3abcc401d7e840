// Links: made, opened in a fresh profile, broken, and met by a visitor who has work of their own.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { choose, COMPILED, output, playground, settled, shows, stage, text, write } from "./lib/page.mjs";

describe("a link", () => {
  const pages = playground();

  /** Writes a script, shares it, and gives the part of the link after the address. */
  async function share(page, script) {
    await write(page, script);
    return shareNow(page);
  }

  async function shareNow(page) {
    await page.getByRole("button", { name: "Share" }).click();
    await shows(page.locator(".popover:popover-open"), "on your clipboard");
    const link = await page.getByLabel("Link", { exact: true }).inputValue();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), link);
    assert.equal(page.url(), link);
    return link.slice(pages.base().length);
  }

  it("brings program and options back in a fresh profile", async () => {
    const script = '# ünïcode 🔥\nprint("shared")\n';
    const first = await pages.open();
    await choose(first, "Partitioner", "default");
    const link = await share(first, script);
    assert.match(link, /^#v2\/[\w-]+$/);
    const second = await pages.open(link);
    await shows(output(second), "shared");
    assert.equal(await text(second), script);
    await second.getByRole("button", { name: "Options" }).click();
    assert.equal(await second.getByLabel("Partitioner").inputValue(), "default");
  });

  it("brings back the view", async () => {
    const first = await pages.open();
    await write(first, COMPILED);
    await settled(first);
    await stage(first, "Backward");
    await first.getByRole("tab", { name: "Timeline" }).click();
    await first.getByRole("tab", { name: "Run on GPU" }).click();
    await first.locator(".graph-text .cm-line", { hasText: "aten.cos" }).click();
    const link = await shareNow(first);
    const second = await pages.open(link);
    await settled(second);
    for (const pane of ["timeline", "run"]) await second.locator(`[data-pane=${pane}]`).waitFor();
    assert.equal(await second.getByRole("tab", { name: "Backward" }).getAttribute("aria-selected"), "true");
    await shows(second.locator("[data-pane=script] .cm-linked"), "x.sin()");
    await shows(second.locator(".graph-text .cm-linked").first(), "cos");
  });

  it("brings back what views are turned to: partition, comparison, memory, a call that was tried", async () => {
    const first = await pages.open();
    await write(first, COMPILED);
    await settled(first);
    const details = (page, title) => page.getByRole("tab", { name: title, exact: true }).click();
    await details(first, "Guards");
    await first.locator("[data-pane=guards] .try input").first().fill("5");
    await shows(first.locator("[data-pane=guards] .try"), "size mismatch at index 0. expected 3, actual 5");
    await details(first, "Memory");
    const memory = (page) => page.locator("[data-pane=memory]");
    await memory(first).getByRole("button", { name: "default partitioner" }).click();
    await memory(first).getByRole("slider", { name: "Step" }).fill("1");
    await details(first, "Partition");
    const partition = (page) => page.locator("[data-pane=partition]");
    await partition(first).getByLabel("Partition", { exact: true }).first().getByRole("combobox").selectOption("default");
    await partition(first).getByRole("tab", { name: "Compare" }).click();
    await partition(first).getByLabel("Compare with").first().getByRole("combobox").selectOption("own");
    const link = await shareNow(first);
    for (const embed of ["", "?embed"]) {
      const second = await pages.open(embed + link);
      await settled(second);
      await shows(partition(second).locator(".compare thead"), /default partitioner\s*this run/);
      await details(second, "Memory");
      await shows(memory(second).locator("caption"), "alive there, default partitioner");
      await details(second, "Guards");
      await shows(second.locator("[data-pane=guards] .try"), "size mismatch at index 0. expected 3, actual 5");
    }
  });

  it("of the first version opens, and so does every kept one", async () => {
    const kept = await readFile(new URL("../../www/tests/links.ts", import.meta.url), "utf8");
    const links = [...kept.matchAll(/"(#v\d+\/[\w-]+)"/g)].map(([, link]) => link);
    assert.ok(links.length >= 5);
    for (const link of links) {
      const page = await pages.open(link);
      const notice = page.locator(".notice p");
      await notice.waitFor();
      const words = await notice.innerText();
      assert.match(words, /^This script came with the link: whoever made the link wrote it\.( It asks to run for up to \d+ seconds: press Run to let it\.)?$/);
      if (words.includes("press Run")) await page.getByRole("button", { name: "Run", exact: true }).click();
      await settled(page);
      assert.equal(await page.locator(".output .traceback").count(), 0, link);
    }
  });

  it("is copied in other dresses", async () => {
    const page = await pages.open();
    const link = pages.base() + (await share(page, "# A title\nprint(1)\n"));
    const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
    for (const [button, said, text] of [
      ["Copy Markdown link", "The Markdown link is", `[A title](${link})`],
      ["Copy Markdown with code", "The Markdown is", `[A title](${link})\n\n\`\`\`python\n# A title\nprint(1)\n\`\`\`\n`],
    ]) {
      await page.getByRole("button", { name: button }).click();
      await shows(page.locator(".popover [role=status]"), said);
      assert.equal(await clipboard(), text);
    }
    // One that is too long for a comment says so, and offers the file.
    await page.keyboard.press("Escape");
    await share(page, `# Long\nprint(1)\n# ${"and on ".repeat(10_000)}\n`);
    await page.waitForFunction(() => document.title === "Long · AOT Playground");
    const arrives = page.waitForEvent("download");
    await page.locator(".popover .note").getByRole("button", { name: "Download script.py" }).click();
    assert.match(await readFile(await (await arrives).path(), "utf8"), /^# Long\n/);
  });

  it("in a frame shows, and leads to the page", async () => {
    const first = await pages.open();
    await write(first, COMPILED);
    await shows(first.locator(".graph-text"), "aten.sin");
    const link = await shareNow(first);
    const frame = await pages.open(`?embed${link}`);
    await shows(frame.locator(".graph-text"), "aten.sin");
    await frame.locator("[data-pane=script] .cm-content").click();
    await frame.keyboard.type("x");
    assert.match(await frame.locator("[data-pane=script] .cm-content").textContent(), /^import torch/);
    assert.equal(await frame.getByRole("button", { name: "Share" }).count(), 0);
    const way = frame.getByRole("link", { name: "Open in the playground" });
    assert.equal(await way.getAttribute("href"), pages.base() + link);
    assert.deepEqual(await frame.evaluate(() => Object.keys(localStorage)), []);
    // A visitor who has a script of their own sees the frame's all the same, and is offered nothing.
    await write(first, 'print("own")');
    await shows(output(first), "own");
    await first.goto("about:blank");
    await first.goto(`${pages.base()}?embed${link}`);
    await shows(first.locator(".graph-text"), "aten.sin");
    assert.equal(await first.locator(".notice").count(), 0);
  });

  it("in a frame costs nothing before it is seen, and is as high as what it shows", async () => {
    const page = await pages.open();
    const link = await share(page, COMPILED);
    await page.getByText("Frame for another page").click();
    await page.locator(".share-frame").getByRole("combobox").first().selectOption("the graph's text alone");
    await page.locator(".share-frame").getByLabel("Theme").selectOption("dark");
    await page.getByLabel("As high as").check();
    await page.getByRole("button", { name: "Copy the frame" }).click();
    await shows(page.locator(".popover [role=status]"), "The frame is on your clipboard");
    const markup = await page.evaluate(() => navigator.clipboard.readText());
    const other = await page.context().newPage();
    const asked = [];
    other.on("request", (request) => asked.push(new URL(request.url()).pathname));
    // The browser would wait, too, as long as the frame is far away.
    await other.setContent(`<div style="height: 1400px"></div>${markup.replace("lazy", "eager")}`);
    const frame = other.frameLocator("iframe");
    await frame.locator("html[data-theme=dark]").waitFor({ state: "attached" });
    await other.waitForLoadState("networkidle");
    assert.deepEqual(asked, ["/embed.html"]);
    await other.locator("iframe").scrollIntoViewIfNeeded();
    await shows(frame.locator(".graph-text"), "aten.sin");
    assert.equal(await frame.getByRole("tab").count(), 0);
    // Nothing in it scrolls: all of it is seen.
    await other.waitForFunction(() => document.querySelector("iframe").clientHeight !== 480);
    const [high, whole] = await frame.locator("#app").evaluate((app) => [innerHeight, app.scrollHeight]);
    assert.ok(high >= whole && whole > 100, `${whole} in ${high}`);
    assert.equal(await frame.getByRole("link", { name: "Open" }).getAttribute("href"), pages.base() + link);
  });

  it("does not cost visitors their own script", async () => {
    const page = await pages.open();
    const link = await share(page, 'print("theirs")');
    await write(page, 'print("mine")');
    await shows(output(page), "mine");
    assert.equal(new URL(page.url()).hash, "");
    await page.goto(pages.base() + link);
    await shows(output(page), "theirs");
    await page.getByRole("button", { name: "Back to my script" }).click();
    await shows(output(page), "mine");
    assert.equal(await text(page), 'print("mine")');
  });

  for (const [what, link, reason] of [
    ["broken", "#v1/abc!", "damaged"],
    ["foreign", "#readme", "not made by this page"],
    ["newer", "#v99/abcd", "newer version"],
  ]) {
    it(`that is ${what} says so and keeps the visitor's text`, async () => {
      const page = await pages.open();
      await write(page, 'print("mine")');
      await shows(output(page), "mine");
      await page.goto("about:blank");
      await page.goto(pages.base() + link);
      await shows(page.locator(".notice"), reason);
      await shows(output(page), "mine");
      assert.equal(await text(page), 'print("mine")');
    });
  }
});
