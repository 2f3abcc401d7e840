// Lessons: the tour, a file that somebody wrote, and the link that hands it on.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { playground, shows, text } from "./lib/page.mjs";

const page = await readFile(new URL("../../docs/lessons.md", import.meta.url), "utf8");
/** The lesson that the page about lessons shows. */
const [, LESSON] = /^````markdown\n(.*?)^````$/ms.exec(page);
const lesson = (page) => page.getByRole("region", { name: "Lesson", exact: true });
const next = (page) => lesson(page).getByRole("button", { name: "Next" }).click();

describe("lessons", () => {
  const pages = playground();

  it("tour one script in six steps: each opens what it is about", async () => {
    const page = await pages.open();
    await page.getByRole("button", { name: "Examples" }).click();
    await page.getByRole("button", { name: "Tour: one script in six steps" }).click();
    const graph = (stage, text) => shows(page.locator(`.graph-text[data-stage=${stage}]`), text);
    await shows(lesson(page), "1 of 6");
    await graph("captured", "self");
    await lesson(page).getByRole("button", { name: "Reveal the answer" }).click();
    await shows(page.locator("[data-pane=script] .cm-linked"), "torch.tanh");
    await next(page);
    await graph("joint", "tangents_1");
    await next(page);
    await page.locator(".picture-host[data-layout]").waitFor();
    await next(page);
    await graph("forward", "return");
    await lesson(page).getByRole("button", { name: "Reveal the answer" }).click();
    await page.getByRole("tab", { name: /^Saved values\s*6$/ }).waitFor();
    await next(page);
    await graph("backward", "tangents_1");
    await next(page);
    await page.getByRole("tab", { name: /^Saved values\s*8$/ }).waitFor();
    assert.equal(await page.getByLabel("Backend of torch.compile").inputValue(), "aot_eager_default_partitioner");
    assert.equal(await page.locator(".notice").count(), 0);
    await page.getByRole("button", { name: "End the lesson" }).click();
    assert.equal(await lesson(page).count(), 0);
  });

  it("that somebody wrote are opened, and handed on by a link", async () => {
    const page = await pages.open();
    const chosen = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Open", exact: true }).click();
    await (await chosen).setFiles([{ name: "sin.md", mimeType: "text/markdown", buffer: Buffer.from(LESSON) }]);
    await shows(lesson(page), /What sin saves, 1 of 2:.*Two steps.*Predict: Which value/s);
    await shows(page.locator(".graph-text[data-stage=forward]"), "aten.sin");
    assert.match(await text(page), /return x\.sin/);
    await lesson(page).getByRole("button", { name: "Copy link" }).click();
    await shows(lesson(page).getByRole("status"), "on your clipboard");
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(link, /#v4\//);
    await lesson(page).getByRole("button", { name: "End the lesson" }).click();
    await page.goto(link);
    await shows(lesson(page), "whoever made the link wrote it");
    await shows(page.locator(".graph-text[data-stage=forward]"), "aten.sin");
    await next(page);
    await page.locator(".picture-host[data-layout]").waitFor();
    await shows(page.locator("[data-pane=script] .cm-linked"), "torch.tanh");
    assert.equal(page.url(), link);
  });
});
