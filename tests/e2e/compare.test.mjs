// "Compare": the graphs of two compilations line by line.
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { playground, settled, shows } from "./lib/page.mjs";

const LOGS = new URL("../../crates/trace/tests/trace/logs/", import.meta.url);

describe("compare", () => {
  const pages = playground();

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
