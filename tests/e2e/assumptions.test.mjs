// What torch.compile assumes of its inputs, and what it does to them: guards, other sizes, breaks, mutation and aliasing.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { playground, settled, shows, write } from "./lib/page.mjs";

const GUARDED = `import torch

@torch.compile
def f(x, w):
    if x.shape[0] > 16:
        return (x @ w).relu()
    return x @ w

w = torch.randn(4, 3)
f(torch.randn(8, 4), w)
f(torch.randn(12, 4), w)
f(torch.randn(32, 4), w)
print("recompiled")
`;

const BROKEN = `import torch

@torch.compile
def f(x):
    y = x * 2
    print(y.sum())
    return y + 1

f(torch.ones(3))
print("went on")
`;

const ALIASED = `import torch

@torch.compile
def step(buf, x):
    buf.mul_(0.9).add_(x)
    return x.view(-1), x * 2

step(torch.zeros(2, 3), torch.randn(2, 3))
print("stepped")
`;

/** Opens a script and one of the panes. */
async function open(pages, script, last, pane) {
  const page = await pages.open();
  await settled(page);
  await write(page, script);
  await shows(page.locator("[data-pane=output]"), last);
  await page.getByRole("tab", { name: pane }).click();
  return page;
}

describe("guards", () => {
  const pages = playground();

  it("are shown with the lines that made them, and recompiles with what failed", async () => {
    const page = await open(pages, GUARDED, "recompiled", "Guards");
    const pane = page.locator("[data-pane=guards]");
    await shows(pane.locator(".answers"), "tensor 'x' size mismatch at index 0. expected 8, actual 12: 1 of 2 cache misses of f [0]");
    await pane.locator("summary", { hasText: "2 recompiles" }).click();
    await shows(pane.locator(".raw tr"), "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 12");
    await pane.getByRole("row", { name: /L\['x'\]\.size\(\)\[0\] > 16/ }).getByRole("button", { name: "Line 5" }).click();
    await shows(page.locator("[data-pane=script] .cm-linked"), "x.shape[0] > 16");
  });

  it("say what another size would do", async () => {
    const page = await open(pages, GUARDED, "recompiled", "Guards");
    const pane = page.locator("[data-pane=guards] .try");
    const field = pane.getByRole("textbox").first();
    await field.fill("20, 4");
    await shows(pane.locator(".serves"), "[0/2]: hit");
    await field.fill("5, 4");
    await shows(pane.locator(".serves"), "[0/1]: hit");
    await shows(pane.locator(".fails").last(), "x.size()[0]");
    await field.fill("20, 5");
    await shows(pane, /Recompiles/);
    await shows(pane.locator(".anew"), /x: float32\[s\d+, s\d+\]/);
    await field.fill("20; 5");
    await shows(pane, "whole numbers");
    assert.equal(await field.getAttribute("aria-invalid"), "true");
  });

  it("breaks are marked in the margin with their reasons", async () => {
    const page = await open(pages, BROKEN, "went on", "Guards");
    await shows(page.locator("[data-pane=guards] .answers"), "1 graph break, at one place");
    const mark = page.locator("[data-pane=script] .cm-break");
    await mark.waitFor();
    assert.match(await mark.getAttribute("title"), /^Graph break: /);
    await page.locator("[data-pane=guards]").getByRole("button", { name: "Line 6" }).first().click();
    await shows(page.locator("[data-pane=script] .cm-linked"), "print(y.sum())");
  });

  it("breaks are gone after a run with the setting that PyTorch hints at", async () => {
    const page = await open(pages, BROKEN.replace("print(y.sum())", "n = y.sum().item()"), "went on", "Guards");
    const pane = page.locator("[data-pane=guards]");
    await shows(pane.locator(".answers"), /line 6: Unsupported Tensor\.item\(\) call.*Hint: Set/);
    await pane.getByRole("button", { name: "Run with capture_scalar_outputs" }).click();
    await pane.locator(".answers").waitFor({ state: "detached" });
    await shows(page.locator("[data-pane=script] .cm-content"), "torch._dynamo.config.capture_scalar_outputs = True");
  });
});

describe("mutation and aliasing", () => {
  const pages = playground();

  it("are told in words, with the code around the graph", async () => {
    const page = await open(pages, ALIASED, "stepped", "Aliasing");
    const pane = page.locator("[data-pane=aliasing]");
    await shows(pane, /Written to in place/);
    await shows(pane, /A view of/);
    await pane.getByRole("button", { name: "Line 5" }).first().click();
    await shows(page.locator("[data-pane=script] .cm-linked"), "buf.mul_(0.9)");
    await shows(pane.locator(".runtime").last(), "After the graph");
    await shows(pane.locator("caption"), "Sequence numbers");
    await shows(pane.locator("tbody tr", { has: page.getByText("aten.mul.Tensor", { exact: true }) }).first(), "mul_");
    await pane.getByRole("button", { name: "Graphviz" }).click();
    await shows(page.locator(".preview-text"), "digraph");
  });
});

const LIMITED = `import torch
torch._dynamo.config.recompile_limit = 3

class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0

    def forward(self, x):
        self.step += 1
        return (x * self.step).relu()

f = torch.compile(Counter())
for _ in range(5):
    f(torch.ones(4, requires_grad=True)).sum().backward()
print("counted")
`;

describe("a frame that reached the recompile limit", () => {
  const pages = playground();

  it("is listed with its uncompiled calls, and guards are asked on the last call's values", async () => {
    const page = await open(pages, LIMITED, "counted", "Guards");
    const pane = page.locator("[data-pane=guards]");
    await shows(pane.locator("[data-uncompiled=\"2\"]"), /forward \[0\].*recompile_limit = 3.*15/);
    await shows(pane.locator(".answers"), /self\.step == k \(line 10\): 3 of 3 cache misses of Counter \[0\].*allow_unspec_int_on_nn_module = True/);
    await shows(pane.locator(".answers"), "Counter [0] is not compiled again: recompile_limit = 3; 2 calls ran uncompiled");
    await shows(pane.locator("summary"), "2 recompiles, and 1 cache miss that reached the recompile limit");
    await shows(page.locator(".group-head .tools"), "3 graphs · 2 recompiles · 2 calls uncompiled");
    const asked = pane.locator(".try");
    await shows(asked, /last call, which ran uncompiled/);
    await shows(asked, /the call runs uncompiled/);
    await asked.getByRole("textbox", { name: /step/ }).fill("1");
    await shows(asked.locator(".serves"), "[0/1]: hit");
    await page.getByRole("tab", { name: "Timeline" }).click();
    await shows(page.locator("[data-pane=timeline]"), /Ran forward uncompiled 2 times.*line 15/);
  });
});
