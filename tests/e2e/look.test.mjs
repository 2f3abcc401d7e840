// How the page looks and what is found in it: the theme, printed colours and addresses, searches, copies of graphs.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { choose, COMPILED, output, playground, settled, shows, write } from "./lib/page.mjs";

const theme = (page) => page.evaluate(() => document.documentElement.dataset.theme);

describe("the look of the page", () => {
  const pages = playground();

  it("follows the system until another theme is chosen, which every page then has before it is painted", async () => {
    const page = await pages.open("", { colorScheme: "dark" });
    assert.equal(await theme(page), "dark");
    await page.emulateMedia({ colorScheme: "light" });
    await page.locator("[data-theme=light]").waitFor();
    await choose(page, "Theme", "dark");
    assert.equal(await theme(page), "dark");
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).colorScheme), "dark");
    // Before any script of the page has run.
    const early = await page.context().newPage();
    await early.addInitScript(() => new MutationObserver((_, self) => document.body && (self.disconnect(), (globalThis.early = document.documentElement.dataset.theme))).observe(document, { childList: true, subtree: true }));
    await early.goto(`${pages.base()}operators.html`);
    assert.equal(await early.evaluate(() => globalThis.early), "dark");
    await early.close();
    await page.goto(`${pages.base()}?embed&theme=light`);
    assert.equal(await theme(page), "light");
    await page.goto(`${pages.base()}?embed`);
    assert.equal(await theme(page), "light");
  });

  it("shows what a script prints as a terminal does, counts what is searched for, copies a graph in each view, and what differs", async () => {
    const page = await pages.open();
    const script = `${COMPILED}
print("\\x1b[1;31mred\\x1b[0m <b>no markup</b>")
print("see https://pytorch.org/docs/stable/, or javascript://x")
for i in range(17):
    print("line", i, "\\x1b[32mgr\\x1b[0meen")
`;
    await write(page, script);
    await shows(output(page), "line 16");
    assert.equal(await output(page).locator('span.bold[style*="--ink-1"]').textContent(), "red");
    assert.equal(await output(page).locator("b").count(), 0);
    const link = output(page).locator("a");
    assert.equal(await link.count(), 1);
    assert.deepEqual(await link.evaluate(({ href, rel, target }) => [href, rel, target]), ["https://pytorch.org/docs/stable/", "noopener noreferrer", "_blank"]);

    await page.getByRole("region", { name: "Output" }).getByRole("button", { name: "Find" }).click();
    const bar = output(page).locator(".find");
    await bar.getByRole("textbox").fill("GREEN");
    await shows(bar.locator("output"), "1 of 17");
    await page.keyboard.press("Shift+Enter");
    await shows(bar.locator("output"), "17 of 17");
    assert.deepEqual(await page.evaluate(() => [CSS.highlights.get("found").size, String([...CSS.highlights.get("chosen")][0])]), [17, "green"]);
    await page.keyboard.press("Escape");
    await bar.waitFor({ state: "detached" });
    await page.waitForFunction(() => CSS.highlights.get("found").size === 0);
    const graphs = page.getByRole("region", { name: "Graphs" });
    await graphs.getByRole("button", { name: "Find" }).click();
    await graphs.getByRole("textbox", { name: "Find" }).fill("aten.sin");
    await page.keyboard.press("Enter");
    await shows(graphs.locator(".find-count"), /^1 of \d+$/);

    // It stays open in another graph.
    await graphs.getByRole("tab", { name: "Backward" }).click();
    await shows(graphs.locator(".find-count"), "none");

    const copied = async (view) => {
      await graphs.getByRole("tab", { name: view }).click();
      await graphs.getByRole("button", { name: "Copy", exact: true }).click();
      await graphs.getByRole("button", { name: "Copied" }).waitFor();
      return page.evaluate(async () => {
        const [item] = await navigator.clipboard.read();
        const [type] = item.types;
        return type === "text/plain" ? await (await item.getType(type)).text() : type;
      });
    };
    assert.match(await copied("Text"), /torch\.ops\.aten\.cos\.default\(primals_1\)/);
    assert.match(await copied("Table"), /^opcode +name +target/);
    assert.equal(await copied("Picture"), "image/png");

    await page.getByRole("button", { name: "Share" }).click();
    await page.getByRole("button", { name: "Differs from PyTorch?" }).click();
    await page.getByRole("button", { name: "Copy the report", disabled: false }).click();
    await shows(page.locator("dialog [role=status]"), "on your clipboard");
    const report = await page.evaluate(() => navigator.clipboard.readText());
    for (const part of [script, "after PyTorch 2.15", "line 16", "===== Backward graph 0 =====", "runpy.run_path('script.py'", pages.base()]) {
      assert.ok(report.includes(part), `${part} in ${report}`);
    }
    // The build names no tracker.
    assert.equal(await page.getByRole("link", { name: "File it" }).count(), 0);
  });
});
