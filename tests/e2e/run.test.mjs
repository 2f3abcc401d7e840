// Runs on the GPU, and on the CPU where there is none.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { playground, settled, shows } from "./lib/page.mjs";

async function runExample(page) {
  await settled(page);
  await page.getByRole("tab", { name: "Run on GPU" }).click();
  await page.getByRole("button", { name: "Run forward and backward" }).click();
  const pane = page.locator("[data-pane=run]");
  await shows(pane.locator(".summary"), /Backward/);
  return pane;
}

/** The largest distance from the CPU's values, as the page shows it. */
async function distance(pane) {
  const cells = await pane.locator("table.values tbody tr td:nth-of-type(3)").allTextContents();
  assert.ok(cells.length > 0);
  return Math.max(...cells.map((cell) => Number(cell || "0")));
}

describe("a run on the GPU", () => {
  const pages = playground();

  it("gives outputs, gradients, their distance from the CPU's, and times", async (t) => {
    const pane = await runExample(await pages.open());
    await shows(pane.locator(".adapter"), /software adapter/);
    for (const caption of ["Outputs", "Gradients"]) await pane.locator("caption", { hasText: caption }).waitFor();
    const worst = await distance(pane);
    assert.ok(worst < 1e-5, `${worst} from the CPU`);
    const dispatches = await pane.locator("table.dispatches tbody tr").count();
    assert.ok(dispatches > 0);
    await pane.locator("summary").first().click();
    await shows(pane.locator(".wgsl").first(), "@compute");
    t.diagnostic(`${dispatches} dispatches, at most ${worst} from the CPU; ${await pane.locator(".adapter").textContent()}`);
  });

  it("outlives a script that is stopped", async () => {
    const page = await pages.open();
    const pane = await runExample(page);
    await page.getByRole("button", { name: "Run forward and backward" }).click();
    await shows(pane.locator(".summary"), /Backward/);
  });
});

describe("without WebGPU", () => {
  const pages = playground({ without: ["--enable-unsafe-webgpu"] });

  it("a run says so, and uses the CPU", async () => {
    const pane = await runExample(await pages.open());
    await shows(pane, "offers no WebGPU");
    await shows(pane.locator(".adapter"), "CPU");
    assert.equal(await distance(pane), 0);
  });
});
