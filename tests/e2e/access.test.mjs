// Nothing keeps anybody out: axe-core over every view, in both themes, wide and on a phone; motion only where it is wanted.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { describe, it } from "node:test";
import { playground, settled } from "./lib/page.mjs";
import { leave, openFrame, VIEWS } from "./lib/views.mjs";

const axe = await readFile(createRequire(new URL("../../www/package.json", import.meta.url)).resolve("axe-core/axe.min.js"), "utf8");

/** What axe asks of either theme: they differ in colours alone. */
const RULES = { light: {}, dark: { runOnly: ["color-contrast"] } };

/** What axe finds in both themes, and whether the page is wider than its window. */
async function findings(page, name) {
  const found = [];
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  for (const [colorScheme, rules] of Object.entries(RULES)) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.locator(`[data-theme=${colorScheme}]`).waitFor();
    const { violations } = await page.evaluate((rules) => globalThis.axe.run(document, { resultTypes: ["violations"], ...rules }), rules);
    for (const { id, nodes } of violations) {
      for (const { target, failureSummary } of nodes) found.push(`${name}, ${colorScheme}: ${id} at ${target}: ${failureSummary}`);
    }
  }
  if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) found.push(`${name}: wider than the window`);
  return found;
}

for (const [size, viewport] of [
  ["wide", { width: 1440, height: 900 }],
  ["on a phone", { width: 390, height: 780 }],
]) {
  describe(`every view, ${size}`, () => {
    const pages = playground();

    it("has no findings of axe, in either theme", async () => {
      const page = await pages.open("", { viewport, reducedMotion: "reduce" });
      await settled(page);
      const found = [];
      for (const { name, go } of VIEWS) {
        await go(page);
        found.push(...(await findings(page, name)));
        await leave(page);
      }
      assert.equal(found.join("\n"), "");
    });

    it("of files beside the script has none", async () => {
      const page = await pages.open("", { viewport });
      await settled(page);
      await page.getByRole("button", { name: "Add file" }).click();
      const name = page.getByRole("textbox", { name: "Name of the file" });
      await name.fill("no name");
      const found = await findings(page, "naming");
      await name.fill("helpers.py");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Close helpers.py" }).waitFor();
      found.push(...(await findings(page, "tabs")));
      assert.equal(found.join("\n"), "");
    });

    it("of a frame has none", async () => {
      const page = await pages.open("", { viewport });
      await settled(page);
      await openFrame(page, pages.base());
      assert.equal((await findings(page, "frame")).join("\n"), "");
    });
  });
}

describe("motion", () => {
  const pages = playground();

  it("is none where the visitor wants none", async () => {
    const page = await pages.open("", { reducedMotion: "reduce" });
    await settled(page);
    await page.locator("[data-pane=script] .cm-content").focus();
    // The caret begins to blink once the editor has noticed.
    await page.locator("[data-pane=script] .cm-focused .cm-cursorLayer").waitFor({ state: "attached" });
    const moving = await page.evaluate(() => {
      const animations = document.getAnimations().map((animation) => animation.animationName ?? animation.transitionProperty ?? animation.id);
      const transitions = [...document.querySelectorAll("*")]
        .filter((element) => getComputedStyle(element).transitionDuration.split(", ").some((duration) => duration !== "0s"))
        .map((element) => element.outerHTML.slice(0, 80));
      return [...animations, ...transitions];
    });
    assert.equal(moving.join("\n"), "");
  });
});
