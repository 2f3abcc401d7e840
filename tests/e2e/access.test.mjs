// Nothing keeps anybody out: axe-core over every view, in both themes, wide and on a phone; motion only where it is wanted.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findings } from "./lib/axe.mjs";
import { playground, settled } from "./lib/page.mjs";
import { leave, openFrame, VIEWS } from "./lib/views.mjs";

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
