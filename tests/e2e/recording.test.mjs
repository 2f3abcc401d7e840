// What the page shows before its interpreter is there: the example, as the build recorded it. It is what the page's own run then shows, in the
// same place.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { output, playground, settled, shows, stage, text, write } from "./lib/page.mjs";

/** Holds the interpreter's module back. Gives what lets it come. */
async function holdModule(page) {
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route("**/interpreter_bg*.wasm", async (route) => {
    await released;
    await route.continue().catch(() => {});
  });
  return release;
}

/** Where everything stands that the visitor may read, and what it says; the status says how far the page is. */
const seen = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll(".header .button, [role=tab], [data-pane], .graph-text, .cm-line, .output pre, .table tr, .answer, .caption, .note")].map((element) => {
      const { x, y, width, height } = element.getBoundingClientRect();
      // A button runs and stops; marks in margins come once a text is parsed.
      const what = element.matches(".header .button, [data-pane], .graph-text") ? "" : `${element.className} ${element.textContent.slice(0, 200)}`;
      return `${[x, y, width, height].map(Math.round)} ${what}`;
    }),
  );

describe("the recorded example", () => {
  const pages = playground();

  it("is seen before the interpreter is there, says that it is a recording, and gives way to the same", async () => {
    let release;
    const page = await pages.open("", { prepare: async (page) => (release = await holdModule(page)) });
    await page.locator(".recording").waitFor();
    const graphs = [];
    const stages = ["Captured", "Functionalized", "Forward", "Backward", "Joint"];
    const copied = async () => {
      await page.getByRole("region", { name: "Graphs" }).getByRole("button", { name: /^(Copy|Copied)$/ }).click();
      return page.evaluate(() => navigator.clipboard.readText());
    };
    for (const name of stages) {
      await stage(page, name);
      graphs.push(await copied());
    }
    await shows(output(page), "loss 1.3685");
    const before = await seen(page);
    release();
    await settled(page);
    assert.equal(await page.locator(".recording").count(), 0);
    assert.deepEqual(await seen(page), before);
    for (const [at, name] of stages.entries()) {
      await stage(page, name);
      assert.equal(await copied(), graphs[at], name);
    }
    // The editor is the visitor's meanwhile, and what they write is not what was recorded.
    const other = await pages.open("", { prepare: async (page) => (release = await holdModule(page)) });
    await other.locator(".recording").waitFor();
    await write(other, 'print("mine")');
    assert.equal(await text(other), 'print("mine")');
    release();
    await shows(output(other), "mine");
    assert.equal(await other.locator(".recording").count(), 0);
  });
});
