// The views of a graph: text, picture and table, by mouse and by keyboard, and what a large graph costs.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { output, playground, settled, shows, stage, write } from "./lib/page.mjs";
import { answers, atRest, openAll, pan } from "./lib/picture.mjs";

const NET = `import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 2)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls.add_(1)
        h = self.first(x).relu()
        return self.second(h.tanh()).sum()

torch.compile(Net())(torch.randn(3, 4)).backward()
print("compiled")
`;

const view = (page, name) => page.getByRole("tablist", { name: "View" }).getByRole("tab", { name }).click();
const picture = (page) => page.locator(".picture-host");
const card = (page) => page.locator(".picture-card");
const focused = (page, name) => page.locator(`.picture-host[data-focus="${name}"]`).waitFor();
const search = (page) => page.getByRole("searchbox");

/** Opens the picture of a stage of `NET`. */
async function open(playgroundPage, name, options) {
  const page = await playgroundPage.open("", options);
  await write(page, NET);
  await shows(output(page), "compiled");
  await settled(page);
  await stage(page, name);
  await view(page, "Picture");
  await page.locator(".picture-host[data-items]").waitFor();
  return page;
}

/** Goes to a node by search. */
async function find(page, name) {
  await picture(page).focus();
  await page.keyboard.press("/");
  await page.keyboard.insertText(name);
  await page.keyboard.press("Enter");
  await focused(page, name);
}

/** Where the focus is in the picture. */
const placeOf = async (page) => (await atRest(page)).focus;

/** The same, on the page: stages have captions of different heights. */
async function placeOnPage(page) {
  const { focus, corner } = await atRest(page);
  return [corner[0] + focus[0], corner[1] + focus[1]];
}

/** Clicks where the focus was. */
async function clickAt(page, [x, y], options) {
  const box = await picture(page).boundingBox();
  await page.mouse.click(box.x + x, box.y + y, options);
}

describe("the picture of a graph", () => {
  const playgroundPage = playground();

  it("is gone about by keyboard along edges, and says what it is at", async () => {
    const page = await open(playgroundPage, "Joint");
    await find(page, "relu");
    await shows(card(page), "aten.relu.default");
    await picture(page).focus();
    await page.keyboard.press("ArrowUp");
    await focused(page, "addmm");
    await shows(page.locator("#picture-focus"), /addmm: aten\.addmm\.default, f32\[3, 8\], 96 B, forward.*Reads/);
    await page.keyboard.press("ArrowDown");
    await focused(page, "relu");
    // Up to the module around a node; Enter closes it and opens it again.
    await find(page, "addmm");
    await picture(page).focus();
    await page.keyboard.press("Alt+ArrowUp");
    await focused(page, "first");
    await shows(card(page), "module, open");
    await page.keyboard.press("Enter");
    await shows(card(page), "module, closed");
    await page.keyboard.press("Enter");
    await shows(card(page), "module, open");
  });

  it("is chosen in by mouse, links to script and text, until something else is chosen", async () => {
    const page = await open(playgroundPage, "Joint");
    await find(page, "tanh");
    const place = await placeOf(page);
    await page.keyboard.press("Escape");
    await picture(page).focus();
    await page.keyboard.press("Escape");
    await card(page).waitFor({ state: "detached" });
    await clickAt(page, place);
    await focused(page, "tanh");
    await shows(page.locator("[data-pane=script] .cm-linked"), "h.tanh()");
    await view(page, "Text");
    await shows(page.locator(".graph-text .cm-linked").first(), "tanh");
    await view(page, "Table");
    await shows(page.locator(".graph-row.chosen"), "aten.tanh.default");
    await view(page, "Picture");
    await focused(page, "tanh");
  });

  it("follows what is chosen elsewhere: a line of the script, a saved value", async () => {
    const page = await open(playgroundPage, "Joint");
    await page.locator("[data-pane=script] .cm-line", { hasText: "h = self.first" }).click();
    await card(page).waitFor();
    assert.match(await card(page).innerText(), /line 13/);
    await page.locator(".saved-name", { hasText: /^tanh$/ }).click();
    await focused(page, "tanh");
  });

  it("keeps the chosen node, and its place, from stage to stage", async () => {
    const page = await open(playgroundPage, "Joint");
    await find(page, "tanh");
    const place = await placeOnPage(page);
    await picture(page).focus();
    for (const [key, name] of [["[", "Functionalized"], ["[", "Captured"], ["]", "Functionalized"], ["]", "Joint"], ["]", "Forward"], ["]", "Backward"]]) {
      await page.keyboard.press(key);
      await page.locator(`#stage-tab-${name.toLowerCase()}[aria-selected=true]`).waitFor();
      await focused(page, "tanh");
      const now = await placeOnPage(page);
      assert.ok(Math.hypot(now[0] - place[0], now[1] - place[1]) < 3, `${name}: ${place} became ${now}`);
    }
  });

  it("closes and opens modules, zooms and fits, by button and by key", async () => {
    const page = await open(playgroundPage, "Forward");
    const items = async () => Number(await picture(page).getAttribute("data-items"));
    const scale = async () => (await atRest(page)).scale;
    const all = await items();
    await page.getByRole("button", { name: "Close all modules" }).click();
    await page.waitForFunction((most) => Number(document.querySelector(".picture-host").dataset.items) < most, all);
    await picture(page).focus();
    await page.keyboard.press("e");
    await page.waitForFunction((most) => Number(document.querySelector(".picture-host").dataset.items) === most, all);
    await page.keyboard.press("f");
    const whole = await scale();
    await page.keyboard.press("+");
    await page.getByRole("button", { name: "Zoom in" }).click();
    assert.ok((await scale()) > 1.4 * whole);
    await page.keyboard.press("-");
    await picture(page).hover();
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, 120);
    await page.keyboard.up("Control");
    await page.getByRole("button", { name: "Show all" }).click();
    assert.ok(Math.abs((await scale()) - whole) < 0.01);
  });

  it("is moved by dragging, and by two fingers' wheel", async () => {
    const page = await open(playgroundPage, "Joint");
    await find(page, "relu");
    const [x, y] = await placeOf(page);
    const box = await picture(page).boundingBox();
    const [fromX, fromY] = [box.x + box.width - 30, box.y + box.height / 2];
    await page.mouse.move(fromX, fromY);
    await page.mouse.down();
    await page.mouse.move(fromX - 40, fromY + 25, { steps: 5 });
    await page.mouse.up();
    assert.deepEqual(await placeOf(page), [x - 40, y + 25]);
    await page.mouse.wheel(10, 20);
    assert.deepEqual(await placeOf(page), [x - 50, y + 5]);
    await focused(page, "relu");
  });

  it("searches by operator, and goes through what it finds", async () => {
    const page = await open(playgroundPage, "Joint");
    await search(page).fill("aten.addmm");
    await shows(page.locator(".picture-count"), /^2$/);
    await page.keyboard.press("Enter");
    await focused(page, "addmm");
    await page.keyboard.press("Enter");
    await focused(page, "addmm_1");
    await shows(page.locator(".picture-count"), "2 of 2");
    await search(page).fill("no such thing");
    await shows(page.locator(".picture-count"), "none");
  });

  it("finds what is in a closed module, and opens it", async () => {
    const page = await open(playgroundPage, "Joint");
    const items = () => picture(page).getAttribute("data-items").then(Number);
    const all = await items();
    await page.getByRole("button", { name: "Close all modules" }).click();
    // Until they are closed, it is found where it still is.
    await page.waitForFunction((most) => Number(document.querySelector(".picture-host").dataset.items) < most, all);
    await find(page, "addmm_1");
    await shows(card(page), "in second");
  });

  it("marks writes, what is saved and what is recomputed by letters that the legend explains", async () => {
    const page = await open(playgroundPage, "Joint");
    for (const text of ["forward", "backward", "saved", "writes in place"]) await shows(page.locator(".picture-legend"), text);
    await find(page, "copy_");
    await shows(card(page), "writes in place");
  });
});

describe("the table of a graph", () => {
  const playgroundPage = playground();

  it("has the columns of print_tabular, sorts, and is gone about by keyboard", async () => {
    const page = await open(playgroundPage, "Joint");
    await view(page, "Table");
    const row = (name) => page.locator(".graph-row").filter({ has: page.getByRole("gridcell", { name, exact: true }) });
    await row("relu").first().waitFor();
    const cells = await row("relu").first().getByRole("gridcell").allInnerTexts();
    assert.deepEqual(cells, ["call_function", "relu", "aten.relu.default", "(addmm,)", "{}", "float32 [3, 8]", "96 B", "13", "forward", "", ""]);
    const primal = await row("primals_1").first().getByRole("gridcell").allInnerTexts();
    assert.deepEqual(primal, ["placeholder", "primals_1", "primals_1", "()", "{}", "float32 [1]", "4 B", "", "forward", "self.calls", ""]);
    await page.locator(".graph-table").getByRole("button", { name: "bytes" }).click();
    await page.locator(".graph-table").getByRole("button", { name: "bytes" }).click();
    await page.locator('[role=columnheader][aria-sort="descending"]').waitFor();
    const first = page.locator('.graph-row[aria-rowindex="2"]');
    await shows(first, "128 B");
    await page.locator(".graph-table").focus();
    await page.keyboard.press("Home");
    await page.locator('.graph-row.chosen[aria-rowindex="2"]').waitFor();
    await page.keyboard.press("ArrowDown");
    await page.locator('.graph-row.chosen[aria-rowindex="3"]').waitFor();
    await page.keyboard.press("End");
    await page.locator(".graph-row.chosen").waitFor();
  });
});

describe("the text of a graph", () => {
  const playgroundPage = playground();

  it("folds by lines of the script, and unfolds what is chosen elsewhere", async () => {
    const page = await open(playgroundPage, "Joint");
    await view(page, "Text");
    await page.getByLabel("Fold").check();
    await shows(page.locator(".graph-text .cm-folded").first(), "line");
    assert.equal(await page.locator(".graph-text .cm-line", { hasText: "aten.tanh.default" }).count(), 0);
    await page.locator("[data-pane=script] .cm-line", { hasText: "h.tanh()" }).click();
    await page.locator(".graph-text .cm-line", { hasText: "aten.tanh.default" }).waitFor();
    await page.getByLabel("Fold").uncheck();
    await page.locator(".graph-text .cm-folded").first().waitFor({ state: "detached" });
    assert.ok((await page.locator(".graph-text .cm-source-lines").innerText()).includes("14"));
  });
});

describe("a large graph", () => {
  const playgroundPage = playground();

  for (const [blocks, open] of [[70, true], [700, false]]) {
    it(`of ${blocks} transformer blocks is laid out and panned, and nodes in it are found`, async (t) => {
      const page = await playgroundPage.open("", { prepare: answers(blocks), viewport: { width: 1400, height: 900 } });
      await settled(page);
      await view(page, "Picture");
      const host = page.locator(".picture-host[data-layout]");
      await host.waitFor();
      const tell = async (what) => {
        const { nodes, items, layout } = await host.evaluate(({ dataset }) => ({ ...dataset }));
        t.diagnostic(`${nodes} nodes, ${what}: ${items} items laid out in ${layout} ms`);
      };
      const panned = async (what) => {
        const before = await atRest(page);
        const { rate, tiles } = await pan(page, 180);
        t.diagnostic(`pan ${what}: ${rate.toFixed(1)} frames/s, ${tiles} tiles`);
        assert.notDeepEqual((await atRest(page)).at, before.at);
        // Panning copies what was drawn: a picture drawn anew would need several tiles in every frame.
        assert.ok(tiles < 180, `${tiles} tiles in 180 frames`);
      };
      await tell("as they come");
      await panned("as it opens");
      if (open) {
        await openAll(page);
        await tell("all open");
        await panned("all open, near");
        await page.getByRole("button", { name: "Show all" }).click();
        await panned("all of it in the window");
        await picture(page).focus();
        for (let i = 0; i < 8; i += 1) await page.keyboard.press("+");
        await panned("in between");
      }
      // It stays usable: a node deep inside is found, and its module opened.
      const target = `gelu_b${blocks - 1}`;
      await search(page).fill(target);
      await page.keyboard.press("Enter");
      await focused(page, target);
    });
  }
});
