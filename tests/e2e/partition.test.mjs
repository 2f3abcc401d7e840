// The panes about partitions: decisions with their reasons, what-if, the network, comparisons, memory and its curve.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { playground, settled, shows, write } from "./lib/page.mjs";

const SCRIPT = `import torch, torch.nn as nn
m = nn.Sequential(nn.Linear(16, 64), nn.Dropout(0.5), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.LayerNorm(64), nn.Linear(64, 4))
x = torch.randn(32, 16)
torch.compile(m)(x).sum().backward()
`;

async function openPane(page, name) {
  await write(page, SCRIPT);
  await shows(page.locator('[data-pane=saved], [data-pane=partition], [data-pane=memory]'), /relu|getitem|mode/i);
  await settled(page);
  await page.getByRole("tab", { name, exact: true }).click();
  return page.locator(`[data-pane=${name.toLowerCase()}]`);
}

const view = (page, name) => page.getByRole("tablist", { name: "Of the partition" }).getByRole("tab", { name }).click();
const choose = (pane, label, option) => pane.getByRole("group", { name: label, exact: true }).getByRole("combobox").first().selectOption(option);

describe("the partition pane", () => {
  const pages = playground();

  it("says why each value is saved, and what would be otherwise", async () => {
    const page = await pages.open();
    const pane = await openPane(page, "Partition");
    await pane.getByRole("button", { name: "relu", exact: true }).click();
    await shows(pane.locator(".detail-row"), /8192 B × 1\.1\^\d+/);
    await shows(pane.locator(".detail-row"), /Read in the backward by.*mm_\d/);
    await pane.getByRole("button", { name: "What would be saved instead?" }).click();
    await shows(pane.locator("[data-counterfactual=relu]"), /saved instead/);
  });

  it("partitions again for another budget, without a run, and says where PyTorch's dropout is wrong", async () => {
    const page = await pages.open();
    const pane = await openPane(page, "Partition");
    await choose(pane, "Partition", "min-cut with a budget");
    const budget = pane.getByRole("slider");
    await budget.focus();
    await page.keyboard.press("Home");
    await shows(pane.locator(".note"), "native_dropout");
    await shows(pane.locator(".summary"), /\d\d recomputed/);
  });

  it("shows the network of the cut, and walks it by keyboard", async () => {
    const page = await pages.open();
    const pane = await openPane(page, "Partition");
    await view(page, "Cut");
    const box = pane.getByRole("button", { name: /^addmm, / });
    await box.focus();
    await page.keyboard.press("Enter");
    await shows(pane.locator(".network"), "from the source, infinite");
    assert.ok((await pane.locator(".network-picture .box.cut").count()) > 3);
  });

  it("compares two partitions", async () => {
    const page = await pages.open();
    const pane = await openPane(page, "Partition");
    await view(page, "Compare");
    await shows(pane.locator("table.compare"), "default partitioner");
    await choose(pane, "Compare with", "this run");
    await shows(pane.locator("table.compare"), "the same for every value");
  });
});

describe("the memory pane", () => {
  const pages = playground();

  it("shows live bytes in every mode, what is alive at the peak, and the curve", async () => {
    const page = await pages.open();
    const pane = await openPane(page, "Memory");
    await shows(pane.locator(".answer"), /Peak .* at .*: .*; budget 0\.5: .*\./);
    await shows(pane.locator("table").first(), "eager");
    await shows(pane.locator("table").first(), "default partitioner");
    assert.equal(await pane.locator("path.series").count(), 4);
    await shows(pane.locator("table.alive caption"), "at the peak");
    await pane.locator("svg.memory-chart").first().click({ position: { x: 120, y: 60 } });
    await shows(pane.locator("table.alive caption"), "alive there");
    await pane.locator("summary").click();
    await pane.getByRole("button", { name: /^Budget 0:/ }).focus();
    await page.keyboard.press("Enter");
    await pane.getByRole("button", { name: "min-cut, budget 0", exact: true }).waitFor();
  });
});
