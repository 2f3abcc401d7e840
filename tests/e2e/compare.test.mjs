// "Compare": the script under several backends, and the graphs of two compilations line by line.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { playground, settled, shows, write } from "./lib/page.mjs";

const LOGS = new URL("../../crates/trace/tests/trace/logs/", import.meta.url);

/** Inductor draws other random numbers than eager mode. */
const DRAWS = `import torch

torch.manual_seed(0)


@torch.compile
def f(x):
    return (x.sin() * torch.rand(3)).cos().sum()


print("begin")
loss = f(torch.ones(3, requires_grad=True))
loss.backward()
print(f"loss {loss.item():.4f}")
`;

describe("compare", () => {
  const pages = playground();

  it("runs the script under several backends, and names the first that prints something else", async () => {
    const page = await pages.open();
    await write(page, DRAWS);
    await settled(page);
    await page.getByRole("button", { name: "Options" }).click();
    await page.getByRole("button", { name: "Compare backends…" }).click();
    const dialog = page.getByRole("dialog", { name: "Compare" });
    await dialog.getByRole("button", { name: "Run under eager, aot_eager, inductor" }).click();
    await dialog.locator('.ladder-verdict[data-differs="inductor"]').waitFor();
    await shows(dialog.locator(".ladder-verdict"), "inductor is the first that prints something else, in line 2 of the output:");
    const rows = await dialog.locator(".ladder tbody tr").allTextContents();
    assert.equal(rows.length, 3);
    assert.match(rows[0], /^eagerthe referenceno AOTAutograd10$/);
    assert.match(rows[1], /^aot_eagerthe same[\d.]+ B10$/);
    assert.match(rows[2], /^inductordiffers from line 2 on/);
    // Stopped, it says what was known.
    await dialog.getByRole("button", { name: "Run under" }).click();
    await dialog.getByRole("button", { name: "Stop" }).click();
    await dialog.getByRole("button", { name: "Run under" }).waitFor();
    assert.equal(await dialog.locator(".ladder-verdict").count(), 0);
  });

  it("shows graphs line by line", async () => {
    const page = await pages.open();
    await settled(page);
    const chosen = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Open", exact: true }).click();
    await (await chosen).setFiles(["ranks/rank_0.txt", "ranks/rank_1.txt"].map((name) => ({ name, mimeType: "text/plain", buffer: readFileSync(new URL(name, LOGS)) })));
    await page.getByRole("button", { name: "Compare…" }).click();
    await page.getByText("Graphs, line by line").first().click();
    const texts = page.locator(".compare-texts").first();
    // Beside each other, and one after the other where there is no room.
    await texts.locator(".cm-changedLine").first().waitFor();
    await page.locator(".compare-stage").getByLabel("Stage").selectOption("Forward");
    await shows(page.locator(".compare-stage [role=status]"), /places? with other lines/);
    await page.setViewportSize({ width: 390, height: 780 });
    await texts.locator(".cm-deletedChunk").first().waitFor();
    await shows(texts, "f32[5, 8]");
    await shows(texts, "f32[8, 8]");
  });
});
