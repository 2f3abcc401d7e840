// Panes by mouse and by keyboard, and the page on a phone.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { output, playground, settled, shows, write } from "./lib/page.mjs";

describe("the layout", () => {
  const pages = playground();

  it("resizes by mouse and by keyboard, and remembers", async () => {
    const page = await pages.open();
    const bar = page.getByRole("separator", { name: "Width of the script" });
    const before = Number(await bar.getAttribute("aria-valuenow"));
    await bar.focus();
    await page.keyboard.press("ArrowRight");
    const after = Number(await bar.getAttribute("aria-valuenow"));
    assert.equal(after, before + 4);
    const box = await bar.boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(box.x - 150, box.y + 200, { steps: 4 });
    await page.mouse.up();
    const dragged = Number(await bar.getAttribute("aria-valuenow"));
    assert.ok(dragged < after, `${dragged} after ${after}`);
    await page.reload();
    assert.equal(Number(await bar.getAttribute("aria-valuenow")), dragged);
  });

  it("is walked by keyboard alone", async () => {
    const page = await pages.open();
    await settled(page);
    await page.getByRole("tab", { name: "Saved values" }).focus();
    await page.keyboard.press("End");
    await page.locator("[data-pane=run]").waitFor();
    await page.locator("[data-pane=script] .cm-content").focus();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText('print("by keyboard")');
    await page.keyboard.press("Control+Enter");
    await shows(output(page), "by keyboard");
    // The first closes a list of completions, where one is open.
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement?.closest(".cm-editor") === null), true);
  });

  it("is gone through by F6, every pane in turn and back", async () => {
    const page = await pages.open();
    await settled(page);
    const focused = () => page.evaluate(() => document.activeElement?.closest("[data-pane]")?.dataset.pane);
    const order = ["script", "output", "timeline", "plot", "graphs", "saved", "partition", "memory", "aliasing", "guards", "run", "script"];
    for (const pane of order) {
      await page.keyboard.press("F6");
      await page.waitForFunction((name) => document.activeElement?.closest("[data-pane]")?.dataset.pane === name, pane);
    }
    await page.keyboard.press("Shift+F6");
    await page.waitForFunction(() => document.activeElement?.closest("[data-pane]")?.dataset.pane === "run");
    assert.equal(await focused(), "run");
  });

  it("gives one group all the room, until another pane is asked for", async () => {
    const page = await pages.open();
    await settled(page);
    const script = page.locator("[data-pane=script] .cm-content");
    const before = await page.locator("[data-pane=graphs]").boundingBox();
    await page.getByRole("button", { name: "Maximize Graphs" }).click();
    await script.waitFor({ state: "hidden" });
    const after = await page.locator("[data-pane=graphs]").boundingBox();
    assert.ok(after.width > 1.5 * before.width && after.height > 1.4 * before.height, `${JSON.stringify(after)} after ${JSON.stringify(before)}`);
    await page.getByRole("button", { name: "Restore Graphs" }).click();
    await script.waitFor();
    await page.getByRole("button", { name: "Maximize Details" }).click();
    await page.keyboard.press("F6");
    await page.waitForFunction(() => !document.querySelector(".maximized") || document.activeElement?.closest(".maximized"));
  });

  it("becomes tabs on a phone, with every view", async () => {
    const page = await pages.open("", { viewport: { width: 390, height: 780 }, hasTouch: true });
    // Long lines are wrapped.
    await page.locator("[data-pane=script] .cm-lineWrapping").waitFor();
    await write(page, 'print("small")');
    for (const [name, pane] of [["Output", "output"], ["Graphs", "graphs"], ["Saved", "saved"], ["Run", "run"], ["Timeline", "timeline"], ["Plot", "plot"], ["Script", "script"]]) {
      await page.getByRole("tablist", { name: "Views" }).getByRole("tab", { name }).click();
      await page.locator(`[data-pane=${pane}]`).waitFor();
      if (pane === "output") await shows(output(page), "small");
    }
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
    // Each of the header's buttons has room for a finger, whatever panes' rules came with them.
    const heights = await page.locator(".actions .button").evaluateAll((buttons) => buttons.filter((button) => button.checkVisibility()).map((button) => [button.textContent.trim(), button.offsetHeight]));
    assert.deepEqual(heights, heights.map(([name]) => [name, 34]));
    assert.ok(heights.some(([name]) => name === "Run"), JSON.stringify(heights));
  });
});
