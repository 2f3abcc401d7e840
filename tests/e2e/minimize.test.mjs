// Scripts made smaller in the page: in a worker of its own, which is ended where a script that it tries does not end.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { output, playground, settled, shows, text, write } from "./lib/page.mjs";

const RAISES = `import torch


@torch.compile
def f(x, w, scale=2.0):
    y = torch.relu(x @ w)
    return y * scale


x = torch.ones(4, 8)
for step in range(3):
    print("step", step)
    out = f(x, torch.ones(3, 5))
`;

/** Loops for ever without its third line. */
const LOOPS = `n = 3
while n > 0:
    n -= 1
print(n, "left")
`;

const dialog = (page) => page.locator(".dialog-minimize");
const press = (page, name) => dialog(page).getByRole("button", { name, exact: true }).click();

async function open(page) {
  await page.getByRole("button", { name: "Share" }).click();
  await page.getByRole("button", { name: "Minimize the script" }).click();
}

describe("the search for the smallest script", () => {
  const pages = playground();

  it("keeps the exception, shows the script shrink, and puts it into the editor, where it is undone", async (t) => {
    const page = await pages.open();
    await settled(page);
    await write(page, RAISES);
    await output(page).getByRole("button", { name: "Minimize the script" }).click();
    assert.equal(await dialog(page).getByRole("radio", { name: "The exception" }).isChecked(), true);
    await shows(dialog(page).locator(".minimize-what"), "RuntimeError");
    await press(page, "Start");
    await shows(dialog(page).getByRole("status"), /^\d statements? of 8, \d+ scripts tried$/);
    t.diagnostic(await dialog(page).getByRole("status").textContent());
    const smallest = dialog(page).getByLabel("The smallest script so far");
    await shows(smallest, "@");
    await press(page, "Use this script");
    await settled(page);
    const used = await text(page);
    assert.ok(used.split("\n").length <= 6 && used.includes("@"), used);
    await shows(output(page), "RuntimeError");
    await page.locator("[data-pane=script] .cm-content").click();
    await page.keyboard.press("Control+z");
    assert.equal(await text(page), RAISES);
  });

  it("ends a script that does not end, and goes on", async () => {
    const page = await pages.open();
    await settled(page);
    await write(page, LOOPS);
    await shows(output(page), "0 left");
    await open(page);
    assert.equal(await dialog(page).getByRole("radio", { name: "A text" }).isChecked(), true);
    assert.equal(await dialog(page).getByLabel("Text", { exact: true }).inputValue(), "0 left");
    await press(page, "Start");
    await shows(dialog(page).getByRole("status"), /^\d statements? of 4, \d+ scripts tried$/);
    await shows(dialog(page).getByLabel("The smallest script so far"), "left");
  });

  it("is stopped with the smallest script so far, and says what there is not", async () => {
    const page = await pages.open();
    await settled(page);
    await open(page);
    await dialog(page).getByRole("radio", { name: "An operator" }).check();
    await dialog(page).getByLabel("Operator", { exact: true }).fill("aten.cholesky");
    await press(page, "Start");
    await shows(dialog(page).getByRole("status"), "There is nothing to keep: no graph of the script has the operator 'aten.cholesky'.");
    await dialog(page).getByLabel("Operator", { exact: true }).fill("aten.tanh_backward");
    await press(page, "Start");
    await shows(dialog(page).getByRole("status"), /so far/);
    await press(page, "Stop");
    await shows(dialog(page).getByRole("status"), /^\d+ statements of \d+ when it was stopped, \d+ scripts? tried$/);
    await shows(dialog(page).getByLabel("The smallest script so far"), "tanh");
  });
});
