// Timeline, plot, help and exports.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { describe, it } from "node:test";
import { COMPILED, example, output, playground, settled, shows, stage, write } from "./lib/page.mjs";

const sharp = createRequire(new URL("../../www/package.json", import.meta.url))("sharp");

/** Opens the dialog of exports on a stage of the compiled function. */
async function openExports(page, of) {
  await write(page, COMPILED);
  await shows(page.locator(".graph-text"), "x.sin()");
  await settled(page);
  await stage(page, of);
  await page.getByRole("button", { name: "Share" }).click();
  await page.getByRole("button", { name: "Export" }).click();
  return page.getByRole("dialog", { name: "Export" });
}

/** The file that a format is downloaded as. */
async function downloaded(page, dialog, format, file) {
  await dialog.getByRole("radio", { name: format }).check();
  const button = dialog.getByRole("button", { name: `Download ${file}`, disabled: false });
  await button.waitFor();
  const arrives = page.waitForEvent("download");
  await button.click();
  return readFile(await (await arrives).path());
}

describe("the views", () => {
  const pages = playground();

  it("show what happened as it happens, with reasons, and go there", async () => {
    const page = await pages.open();
    await page.getByRole("tab", { name: "Timeline" }).click();
    await example(page, "Dynamic shapes");
    const timeline = page.locator("[data-pane=timeline]");
    await shows(timeline, "size mismatch at index 0. expected 4, actual 7");
    await shows(timeline, "forward 2 times, backward 2 times");
    await timeline.getByRole("button", { name: "normalize [0/1]" }).first().click();
    await shows(page.locator(".graph-text"), "s");
    assert.equal(await page.getByLabel("Compilation").inputValue(), "c1");
    await page.locator("[data-pane=script] .cm-linked").first().waitFor();
    await write(page, `${COMPILED}while True:\n    pass\n`);
    await shows(timeline, /Compiled f \[0\/0\].*Running…/s);
    await page.getByRole("button", { name: "Stop" }).click();
    await example(page, "A graph break");
    await shows(timeline, /Graph break at line 7.*what follows the break at line 7/s);
  });

  it("show a backward under compiled autograd before what was compiled for it, and count what it serves", async () => {
    const page = await pages.open();
    const script = `import torch
from torch._dynamo import compiled_autograd
x = torch.ones(3, requires_grad=True)
for _ in range(3):
    x.grad = None
    loss = x.sin().sum()
    with compiled_autograd._enable(torch.compile(backend="aot_eager")):
        loss.backward()
`;
    await write(page, script);
    await settled(page);
    await stage(page, "Compiled autograd");
    await shows(page.locator(".graph-text"), "class CompiledAutograd0(torch.nn.Module)");
    await stage(page, "Inference");
    await shows(page.locator(".graph-text"), "torch.ops.aten.cos.default");
    await page.getByRole("tab", { name: "Timeline" }).click();
    const timeline = page.locator("[data-pane=timeline]");
    await shows(timeline, /Compiled autograd captured CompiledAutograd0.*Cache miss due to new autograd node: torch::autograd::GraphRoot/s);
    await shows(timeline, "Compiled autograd: CompiledAutograd0 served 2 times (cache hit)");
    await timeline.getByRole("button", { name: "CompiledAutograd0" }).first().click();
    await shows(page.locator(".graph-text"), "torch__dynamo_external_utils_call_accumulate_grad");
  });

  it("say of a captured tape which line and which compiled forward its tensors come from", async () => {
    const page = await pages.open();
    const script = `import torch
from torch._dynamo import compiled_autograd

@torch.compile(backend="aot_eager")
def f(x, w):
    return torch.tanh(x @ w)

w = torch.ones(3, 3, requires_grad=True)
loss = (f(torch.ones(2, 3), w) * w[:2]).sum()
with compiled_autograd._enable(torch.compile(backend="aot_eager")):
    loss.backward()
`;
    await write(page, script);
    await settled(page);
    await page.getByLabel("Compilation", { exact: true }).selectOption({ index: 1 });
    await stage(page, "Compiled autograd");
    await page.getByRole("tab", { name: /^Saved/ }).click();
    const rows = page.getByRole("region", { name: "Inputs of the tape" }).locator("tbody tr");
    await shows(rows.filter({ hasText: "MulBackward0" }).first(), /getitem_1MulBackward0\d+9the node, in eager mode/);
    const ofForward = rows.filter({ hasText: "CompiledFunctionBackward0" }).first();
    await shows(ofForward, /of the forward of f \[0\/0\] \(graph 0\)/);
    await ofForward.getByRole("button", { name: "detach_1" }).click();
    await shows(page.locator(".graph-text[data-stage=forward]"), "torch.ops.aten.tanh.default");
  });

  it("say what the script calls an input, and of a name what it is", async () => {
    const page = await pages.open();
    await settled(page);
    await stage(page, "Forward");
    const sourced = page.locator(".graph-text .cm-sourced").first();
    assert.match(await sourced.getAttribute("data-source"), /\w/);
    await page.locator(".graph-text .cm-operator").first().hover();
    await shows(page.locator(".hover-card"), /aten\.\w+.*\(.*Tensor.*\) -> .*result of aten/);
  });

  it("show two graphs side by side: of another stage, under another backend, of a run that was pinned", async () => {
    const page = await pages.open();
    await write(page, COMPILED);
    await shows(page.locator(".graph-text"), "aten.sin");
    await settled(page);
    await page.getByRole("button", { name: "Beside" }).click();
    const [first, second] = ["First graph", "Second graph, beside it"].map((name) => page.getByRole("region", { name, exact: true }));
    await second.getByLabel("Stage of the second graph").selectOption("backward");
    await shows(second.locator(".graph-text[data-stage=backward]"), "tangents_1");
    await first.locator(".cm-line", { hasText: "aten.cos" }).click();
    await shows(second.locator(".cm-linked"), "aten.cos");
    await second.getByLabel("Backend of the second graph").selectOption("eager");
    await shows(second.locator(".graph-text[data-stage=captured]"), "x.sin()");
    await second.getByRole("button", { name: "Pin this run" }).click();
    await second.getByLabel("Stage of the second graph").selectOption("backward");
    await write(page, COMPILED.replace("sin()", "tanh()"));
    await shows(first, "aten.tanh");
    await shows(second, "aten.cos");
  });

  it("lists saved values the largest first, and by line", async () => {
    const page = await pages.open();
    await settled(page);
    await page.getByRole("tab", { name: /^Saved/ }).click();
    const pane = page.locator("[data-pane=saved]");
    await shows(pane.locator("[data-eager]"), /^Activations kept for the backward: .*; eager mode keeps .*\.$/);
    assert.equal(await pane.locator('th[aria-sort="descending"]').textContent(), "Bytes ↓");
    await pane.getByRole("combobox").selectOption("line");
    const group = pane.locator(".group-row").first();
    await group.getByRole("button").click();
    await pane.locator("tbody tr:not(.group-row)").first().waitFor();
    await pane.getByRole("button", { name: "Copy as a table" }).click();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^\| Value \| Type \| Shape \| Bytes \|/);
  });

  it("draw the numbers a script prints, and list them", async () => {
    const page = await pages.open();
    await example(page, "A training loop");
    await page.getByRole("tab", { name: "Plot" }).click();
    await page.getByRole("img", { name: "loss, accuracy by step" }).locator("canvas").waitFor();
    await page.getByLabel("As a table").check();
    const table = page.locator("[data-pane=plot] table");
    assert.deepEqual(await table.locator("thead th").allTextContents(), ["step", "loss", "accuracy"]);
    // Rows come while the script runs.
    await table.locator("tbody tr").nth(29).waitFor();
    assert.equal(await table.locator("tbody tr").count(), 30);
  });

  it("explain themselves in terms of the script", async () => {
    const page = await pages.open();
    await write(page, COMPILED);
    await settled(page);
    await page.getByRole("button", { name: "Help" }).click();
    const help = page.getByRole("dialog", { name: "Help" });
    await shows(help.locator(".stages"), /Backward.*Here: 2 inputs and 4 calls/s);
    await shows(help.locator(".stages"), "Line 4");
    await help.getByRole("button", { name: "Backward" }).click();
    await shows(page.locator(".graph-text"), "aten.cos");
  });

  it("are exported as files", async () => {
    const page = await pages.open();
    const dialog = await openExports(page, "Backward");
    for (const [format, file, expected] of [
      ["Python", "f_0_0_backward.py", /^"""The backward graph of f \[0\/0\].*class GraphModule\(torch\.nn\.Module\):.*aten\.cos\.default/s],
      ["PyTorch’s log", "graphs.log", /===== Joint graph 0 =====.*===== Backward graph 0 =====/s],
      ["Graphviz", "f_0_0_backward.dot", /^digraph \{/],
      ["Table", "f_0_0_backward.txt", /^opcode +name/],
      ["Report", "report.json", /^\{"version":1,"pytorch":"2\.15/],
    ]) {
      assert.match((await downloaded(page, dialog, format, file)).toString("utf8"), expected, format);
      await dialog.locator("pre").filter({ hasText: expected }).waitFor();
    }
  });

  it("are exported as PyTorch logs them", async () => {
    const page = await pages.open();
    const ours = (await downloaded(page, await openExports(page, "Joint"), "PyTorch’s log", "graphs.log")).toString("utf8");
    const theirs = await readFile(new URL("recorded/aot_graphs.txt", import.meta.url), "utf8");
    assert.equal(ours.slice(ours.indexOf("TRACED GRAPH\n ===== Joint")).trimEnd(), theirs.trimEnd());
  });

  it("are exported as pictures, with every node, line for line the same", async () => {
    const page = await pages.open();
    const dialog = await openExports(page, "Backward");
    const svg = await downloaded(page, dialog, "SVG", "f_0_0_backward.svg");
    const png = await downloaded(page, dialog, "PNG", "f_0_0_backward.png");
    // Read where no policy forbids it.
    const blank = await page.context().newPage();
    const drawing = await blank.evaluate((text) => {
      const { documentElement: root } = new DOMParser().parseFromString(text, "image/svg+xml");
      const texts = [...root.querySelectorAll("text")].map(({ textContent }) => textContent);
      return { name: root.localName, size: [root.getAttribute("width"), root.getAttribute("height")].map(Number), texts, title: root.querySelector("title")?.textContent };
    }, svg.toString("utf8"));
    assert.equal(drawing.name, "svg");
    assert.equal(drawing.title, "Backward graph of f [0/0]");
    for (const node of ["primals_1", "sin", "mul", "sum_1", "tangents_1", "expand", "mul_1", "cos", "mul_2", "grad of x"]) {
      assert.ok(drawing.texts.includes(node), `${node} in ${drawing.texts}`);
    }
    const { width, height, format } = await sharp(png).metadata();
    assert.equal(format, "png");
    assert.deepEqual([width, height], drawing.size.map((length) => 2 * Math.round(length)));
    // The one is the other in pixels, whatever fonts who draws it has.
    const grey = (image) => image.resize(300, 300, { fit: "fill" }).flatten({ background: "#fff" }).blur(3).greyscale().raw().toBuffer();
    const [drawn, decoded] = await Promise.all([grey(sharp(svg)), grey(sharp(png))]);
    const apart = drawn.reduce((sum, value, at) => sum + Math.abs(value - decoded[at]), 0) / drawn.length;
    assert.ok(apart < 4, `${apart} of 255 apart`);
    assert.ok(new Set(decoded).size > 20, "a picture of something");
  });

  it("are exported while a script goes on", async () => {
    const page = await pages.open();
    await write(page, `${COMPILED}while True:\n    pass\n`);
    await shows(page.locator(".graph-text"), "aten.sin");
    await page.getByRole("button", { name: "Share" }).click();
    await page.getByRole("button", { name: "Export" }).click();
    await shows(page.locator("pre.preview-text"), "class GraphModule");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Stop" }).click();
  });

  it("never take for markup what a script prints or names", async () => {
    const page = await pages.open();
    const markup = "<img src=x onerror=alert(1)>";
    await write(
      page,
      `# ${markup}\nimport torch\n@torch.compile\ndef f(x):\n    return (x.sin() * 2).sum()  # ${markup}\nf.__name__ = "${markup}"\n` +
        `f(torch.ones(3, requires_grad=True)).backward()\nfor i in range(4):\n    print("${markup}", i, i * i)\n`,
    );
    await settled(page);
    await shows(output(page), markup);
    for (const tab of ["Timeline", "Plot", "Run on GPU"]) await page.getByRole("tab", { name: tab }).click();
    await page.getByLabel("As a table").count();
    for (const name of ["Captured", "Joint", "Backward"]) await stage(page, name);
    for (const dialog of ["Examples", "Help"]) {
      await page.getByRole("button", { name: dialog }).click();
      await page.locator("dialog h3").first().waitFor();
      await page.keyboard.press("Escape");
    }
    await page.getByRole("button", { name: "Share" }).click();
    await page.getByRole("button", { name: "Export" }).click();
    await shows(page.locator("pre.preview-text"), "class GraphModule");
    assert.equal(await page.locator("img:not([src$='icon.svg'])").count(), 0);
  });
});
