// What can be opened: examples, files, scripts of before. Nothing that the visitor wrote is lost on the way.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { example, output, playground, settled, shows, text, write } from "./lib/page.mjs";

/** Lets go of a file over the page. */
async function drop(page, name, content) {
  const data = await page.evaluateHandle(
    ([name, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([typeof content === "string" ? content : new Uint8Array(content)], name));
      return transfer;
    },
    [name, content],
  );
  await page.dispatchEvent("#app", "dragenter", { dataTransfer: data });
  await page.locator(".drop-hint").waitFor();
  await page.dispatchEvent("[data-pane=script] .cm-content", "drop", { dataTransfer: data });
}

describe("what can be opened", () => {
  const pages = playground();

  it("is every example, and each runs to its end", async () => {
    const page = await pages.open();
    await settled(page);
    await page.getByRole("button", { name: "Examples" }).click();
    const titles = await page.locator(".gallery h4").allTextContents();
    assert.ok(titles.length >= 10, `${titles.length} examples`);
    await page.keyboard.press("Escape");
    for (const title of titles) {
      await example(page, title);
      await shows(page.locator(".notice"), "To try:");
      await settled(page);
      assert.equal(await page.locator(".output .traceback").count(), 0, title);
      assert.ok(Number(await page.getByRole("tab", { name: "Graphs" }).locator(".badge").textContent()) > 0, title);
    }
  });

  it("is a file that is dropped, and the script before comes back", async () => {
    const page = await pages.open();
    await write(page, 'print("mine")');
    await shows(output(page), "mine");
    await drop(page, "dropped.py", '# from a file\r\nprint("dropped")\r\n');
    await shows(output(page), "dropped");
    assert.equal(await text(page), '# from a file\nprint("dropped")\n');
    assert.equal(await page.locator(".drop-hint").count(), 0);
    await page.getByRole("button", { name: "Back to my script" }).click();
    await shows(output(page), "mine");
  });

  it("is a file that is chosen", async () => {
    const page = await pages.open();
    await page.getByRole("button", { name: "Examples" }).click();
    const chosen = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Open a file" }).click();
    await (await chosen).setFiles({ name: "chosen.py", mimeType: "text/x-python", buffer: Buffer.from('print("chosen")\n') });
    await shows(output(page), "chosen");
    await page.reload();
    await shows(output(page), "chosen");
  });

  it("is no file that is not text", async () => {
    const page = await pages.open();
    await write(page, 'print("mine")');
    await shows(output(page), "mine");
    await drop(page, "picture.png", [0x89, 0x50, 0xff, 0x00]);
    await shows(page.locator(".notice"), "picture.png is not a text in UTF-8. Your script is as it was.");
    assert.equal(await text(page), 'print("mine")');
  });

  it("is every script of before", async () => {
    const page = await pages.open();
    await write(page, "# first\nprint(1)\n");
    await shows(output(page), "1");
    await example(page, "A graph break");
    await write(page, "# second\nprint(2)\n");
    await shows(output(page), "2");
    await page.getByRole("button", { name: "Examples" }).click();
    await page.locator(".drafts").getByRole("button", { name: "first" }).click();
    await shows(output(page), "1");
    await page.getByRole("button", { name: "Examples" }).click();
    assert.deepEqual(await page.locator(".drafts button").allTextContents(), ["first", "second"]);
  });
});
