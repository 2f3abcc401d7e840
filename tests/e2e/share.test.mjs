// Links: made, opened in a fresh profile, broken, and met by a visitor who has work of their own.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { output, playground, shows, text, write } from "./lib/page.mjs";

describe("a link", () => {
  const pages = playground();

  /** Writes a script, shares it, and gives the part of the link after the address. */
  async function share(page, script) {
    await write(page, script);
    await page.getByRole("button", { name: "Share" }).click();
    const link = await page.getByLabel("Link", { exact: true }).inputValue();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), link);
    assert.equal(page.url(), link);
    return link.slice(pages.base().length);
  }

  it("brings program and options back in a fresh profile", async () => {
    const script = '# ünïcode 🔥\nprint("shared")\n';
    const first = await pages.open();
    await first.getByLabel("Backend").selectOption("aot_eager_default_partitioner");
    const link = await share(first, script);
    assert.match(link, /^#v1\/[\w-]+$/);
    const second = await pages.open(link);
    await shows(output(second), "shared");
    assert.equal(await text(second), script);
    assert.equal(await second.getByLabel("Backend").inputValue(), "aot_eager_default_partitioner");
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
