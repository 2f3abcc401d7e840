// Runs on the GPU, and on the CPU where there is none: values, kernels, training.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { onGpu, playground, settled, shows, write } from "./lib/page.mjs";

async function openPane(page, { gpu = true } = {}) {
  await settled(page);
  await page.getByRole("tab", { name: "Run on GPU" }).click();
  if (gpu) await onGpu(page);
  return page.locator("[data-pane=run]");
}

async function runExample(page, how) {
  const pane = await openPane(page, how);
  await page.getByRole("button", { name: "Run forward and backward" }).click();
  await shows(pane.locator(".summary"), /Backward/);
  return pane;
}

const view = (page, name) => page.getByRole("tablist", { name: "Of this run" }).getByRole("tab", { name }).click();

/** The largest distance from the CPU's values, as the page shows it. */
async function distance(pane) {
  const cells = await pane.locator("table.values tbody tr:not(.detail-row) td:nth-last-child(2)").allTextContents();
  assert.ok(cells.length > 0);
  return Math.max(...cells.map((cell) => Number(cell || "0")));
}

/** Trains and gives the last loss, once the steps are taken. */
async function train(page, pane) {
  await view(page, "Training");
  await pane.getByRole("button", { name: "Train", exact: true }).click();
  await shows(pane.locator("caption"), "Parameters now");
  return Number(await pane.locator("[data-loss]").getAttribute("data-loss"));
}

/** Destroys the device when it is next asked to do something. */
async function loseDevice(page, method = "createCommandEncoder") {
  const worker = page.workers().find((one) => one.url().includes("gpu.worker"));
  await worker.evaluate((method) => {
    const done = GPUDevice.prototype[method];
    GPUDevice.prototype[method] = function (...args) {
      this.destroy();
      GPUDevice.prototype[method] = done;
      return done.apply(this, args);
    };
  }, method);
}

describe("a run on the GPU", () => {
  const pages = playground();

  it("gives outputs, gradients, their distance from the CPU's, and times", async (t) => {
    const pane = await runExample(await pages.open());
    await shows(pane.locator(".adapter"), /software adapter/);
    for (const caption of ["Outputs", "Gradients", "Saved values"]) await pane.locator("caption", { hasText: caption }).waitFor();
    const worst = await distance(pane);
    assert.ok(worst < 1e-5, `${worst} from the CPU`);
    t.diagnostic(`at most ${worst} from the CPU; ${await pane.locator(".adapter").textContent()}`);
  });

  it("shows a value as picture, histogram and numbers, by keyboard", async () => {
    const page = await pages.open();
    const pane = await runExample(page);
    await pane.getByRole("button", { name: "Look at the elements of t_5" }).focus();
    await page.keyboard.press("Enter");
    await shows(pane.locator(".facts"), /elements128/);
    await pane.locator(".heat-map").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await shows(pane.locator("figcaption").first(), /\[0, 1\]: -?\d/);
    await pane.getByRole("button", { name: "Printed" }).press("Enter");
    await shows(pane.locator(".printed"), /^tensor\(\[\[ ?-?\d\.\d{4}, /);
    await pane.getByRole("button", { name: "Difference" }).press("Enter");
    await shows(pane.locator(".printed"), /dtype=torch\.float64\)$/);
    await shows(pane.locator(".detail"), /Farthest from the CPU at|to the last bit/);
    await pane.getByRole("button", { name: "Numbers" }).press("Enter");
    await shows(pane.locator(".numbers .cm-line").first(), /\[0, {2}0\]/);
  });

  it("shows kernels with their nodes, lines and WGSL, and chooses by them", async () => {
    const page = await pages.open();
    const pane = await runExample(page);
    await view(page, "Kernels");
    const first = pane.locator("table.dispatches tbody tr").first();
    await first.getByRole("button", { name: "Line 14" }).click();
    await shows(page.locator("[data-pane=script] .cm-linked"), "self.hidden(x)");
    await first.getByRole("button", { name: "tanh", exact: true }).click();
    await shows(page.locator("[data-pane=script] .cm-linked"), "torch.tanh");
    await first.getByRole("button", { name: "WGSL" }).click();
    await shows(pane.locator(".wgsl"), "@compute");
    await pane.getByRole("button", { name: /^WGSL/ }).last().click();
    await shows(pane, /Not fused with \w+: this kernel (has|reads|would|also)/);
    await view(page, "Device");
    await shows(pane, "maxStorageBufferBindingSize");
  });

  it("trains: the loss falls, steps go on, and can be paused", async (t) => {
    const page = await pages.open();
    const pane = await openPane(page);
    const loss = await train(page, pane);
    assert.ok(loss < 0.01, `${loss} after 100 steps`);
    await pane.locator(".chart canvas").waitFor();
    await pane.getByRole("button", { name: "100 steps more" }).click();
    await pane.locator('[data-steps="200"]').waitFor();
    await pane.getByRole("combobox", { name: "steps" }).selectOption("10000");
    await pane.getByRole("button", { name: "10000 steps more" }).click();
    await pane.getByRole("button", { name: "Pause" }).click();
    await pane.getByRole("button", { name: "Start again" }).waitFor();
    const taken = Number(await pane.locator("[data-steps]").getAttribute("data-steps"));
    assert.ok(taken >= 200 && taken < 10200, `${taken} steps`);
    t.diagnostic(await pane.locator(".summary").textContent());
  });

  it("draws inputs that are too large to be kept, and says so", async () => {
    const page = await pages.open();
    await write(
      page,
      `import torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(16384, 256), nn.Linear(256, 16384)
    def forward(self, tokens):
        return self.head(self.embed(tokens).relu()).logsumexp(-1).mean()
model = Model()
torch.compile(model)(torch.randint(0, 16384, (4,))).backward()
print("large")
`,
    );
    await shows(page.locator("[data-pane=output]"), "large");
    const pane = await openPane(page);
    await shows(pane.locator("[data-drawn='1']"), /1 input \(16\.0 MiB\) is random here/);
    await page.getByRole("button", { name: "Run forward and backward" }).click();
    await shows(pane.locator(".summary"), /Backward/);
    const worst = await distance(pane);
    assert.ok(worst < 1e-4, `${worst} from the CPU`);
  });

  it("takes the CPU where the adapter is a processor itself, and says why", async () => {
    const page = await pages.open();
    const pane = await openPane(page, { gpu: false });
    await shows(pane.locator("[data-prefers]"), /a processor that plays GPU \(google swiftshader\)\. The CPU's own kernels are faster/);
    await page.getByRole("button", { name: "Run forward and backward" }).click();
    await shows(pane.locator(".adapter"), "CPU");
    await onGpu(page);
    assert.equal(await pane.locator("[data-prefers]").count(), 0);
    await page.getByRole("button", { name: "Run forward and backward" }).click();
    await shows(pane.locator(".adapter"), /software adapter/);
  });

  it("times steps on both devices; equal kernels are built once, and not again", async () => {
    const page = await pages.open();
    // Two layers of the same sizes, and so of the same kernels.
    await write(
      page,
      "import torch\nlayers = [torch.nn.Linear(8, 8, bias=False) for _ in range(3)]\nmodel = torch.nn.Sequential(*layers)\ntorch.compile(model)(torch.randn(4, 8)).sum().backward()\nprint('three layers')\n",
    );
    await shows(page.locator("[data-pane=output]"), "three layers");
    const pane = await openPane(page);
    await view(page, "Timing");
    await pane.getByLabel("with an update by SGD").check();
    const time = async () => {
      await pane.getByRole("button", { name: "Time steps" }).click();
      await pane.locator("tr[data-device=cpu]").waitFor();
      const cells = await pane.locator("tr[data-device=webgpu] td").allTextContents();
      return { dispatches: Number(cells[4]), pipelines: Number(cells[5]) };
    };
    const first = await time();
    assert.ok(first.pipelines > 0 && first.pipelines < first.dispatches, `${first.pipelines} pipelines of ${first.dispatches} dispatches`);
    const losses = await pane.locator("tr[data-device]").evaluateAll((rows) => rows.map((row) => Number(row.dataset.loss)));
    assert.ok(Math.abs(losses[0] - losses[1]) < 1e-5, `the loss is ${losses}`);
    await shows(pane.locator("[data-roof]"), /FLOP\/s of products and sums, .*B\/s of a copy/);
    await pane.getByRole("button", { name: /^WGSL/ }).first().click();
    await shows(pane.locator(".buffers"), /b0 /);
    await pane.getByRole("button", { name: "Time steps" }).click();
    await pane.getByRole("button", { name: "Timing…" }).waitFor();
    await pane.locator("tr[data-device=cpu]").waitFor();
    assert.equal(await pane.locator("tr[data-device=webgpu] td").nth(5).textContent(), "0");
  });

  it("says why something cannot be trained", async () => {
    const page = await pages.open();
    await write(page, "import torch\ntorch.compile(lambda x: x.sin())(torch.ones(3))\n");
    await shows(page.locator(".badge"), "1");
    const pane = await openPane(page);
    await view(page, "Training");
    await shows(pane, "has run no backward");
  });

  it("draws the numbers that the script drew", async () => {
    const page = await pages.open();
    await settled(page);
    await write(
      page,
      "import torch\nimport torch.nn.functional as F\nw = torch.ones(64, requires_grad=True)\n\n@torch.compile\ndef f(w):\n    return F.dropout(w, 0.5).sum()\n\nf(w).backward()\n",
    );
    await shows(page.locator("[data-pane=graphs]"), "native_dropout");
    const pane = await runExample(page);
    assert.equal(await distance(pane), 0);
    await shows(pane, /native_dropout.*ran on the CPU/);
  });

  it("outlives a script that is stopped", async () => {
    const page = await pages.open();
    const pane = await runExample(page);
    await page.getByRole("button", { name: "Run forward and backward" }).click();
    await shows(pane.locator(".summary"), /Backward/);
  });
});

describe("a device that is lost", () => {
  const pages = playground();

  it("in a run is said so; the script stays, and the next run starts afresh", async () => {
    const page = await pages.open();
    const pane = await runExample(page);
    await loseDevice(page);
    const run = page.getByRole("button", { name: "Run forward and backward" });
    await run.click();
    await shows(pane.locator(".note.error"), /lost.*Nothing is lost: the script and its graphs/s);
    await shows(page.locator("[data-pane=graphs]"), "tanh");
    await run.click();
    await shows(pane.locator(".summary"), /Backward/);
    assert.ok((await distance(pane)) < 1e-5);
  });

  it("while pipelines are built is said so, and the next run builds them", async () => {
    const page = await pages.open();
    const pane = await runExample(page);
    await loseDevice(page, "createComputePipeline");
    await write(page, "import torch\nprint(torch.compile(lambda x: (x.cos() * 3).erf())(torch.zeros(7)))\n");
    await shows(page.locator("[data-pane=output]"), "tensor([1.0000");
    const run = pane.getByRole("button", { name: /^Run / }).first();
    await run.click();
    await shows(pane.locator(".note.error"), /lost/);
    await run.click();
    await pane.locator(".summary").waitFor();
    assert.ok((await distance(pane)) < 1e-5);
  });

  it("in a training is said so, and the next training trains", async () => {
    const page = await pages.open();
    const pane = await openPane(page);
    await train(page, pane);
    await loseDevice(page);
    await pane.getByRole("button", { name: "100 steps more" }).click();
    await shows(pane.locator(".note.error"), /lost/);
    await pane.getByRole("button", { name: "Train", exact: true }).or(pane.getByRole("button", { name: "Start again" })).first().click();
    await shows(pane.locator("caption"), "Parameters now");
  });
});

describe("without WebGPU", () => {
  const pages = playground({ without: ["--enable-unsafe-webgpu"] });

  it("a run says so, and uses the CPU; training does too", async () => {
    const page = await pages.open();
    const pane = await runExample(page, { gpu: false });
    await shows(pane, "offers no WebGPU");
    await shows(pane.locator(".adapter"), "CPU");
    assert.equal(await distance(pane), 0);
    assert.ok((await train(page, pane)) < 0.01);
  });
});
