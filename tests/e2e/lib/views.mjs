// Every view of the page, and how a visitor gets there: for pictures of them, and to look for what keeps people out.
import { fileURLToPath } from "node:url";
import { example, onGpu, settled, sharedLink, write } from "./page.mjs";

/** Logs that PyTorch wrote. */
const LOGS = fileURLToPath(new URL("../../../crates/trace/tests/trace/logs/", import.meta.url));

/** Brings a pane to the front, by the beginning of its title. */
export const pane = (page, title) => page.getByRole("tab", { name: new RegExp(`^${title}`) }).first().click();

const button = (page, name) => page.getByRole("button", { name, exact: true }).click();

/** Shows the graphs in one of their forms. */
async function graphs(page, form, stage) {
  await pane(page, "Graphs");
  await page.getByRole("tablist", { name: "Stage" }).getByRole("tab", { name: stage }).click();
  await page.getByRole("tablist", { name: "View" }).getByRole("tab", { name: form }).click();
}

/** They are gone to in this order, in one page that has run its example, with `leave` between them. */
export const VIEWS = [
  { name: "script", go: (page) => pane(page, "Script") },
  {
    name: "text",
    async go(page) {
      await graphs(page, "Text", "Backward");
      await page.locator(".graph-text .cm-line", { hasText: "tanh_backward" }).last().click();
    },
  },
  {
    name: "beside",
    async go(page) {
      await graphs(page, "Text", "Joint");
      await button(page, "Beside");
      await page.getByLabel("Stage of the second graph").selectOption("backward");
      await page.locator(".graph-text .cm-line", { hasText: "torch.ops.aten" }).first().click({ position: { x: 90, y: 8 } });
    },
  },
  {
    name: "picture",
    async go(page) {
      await button(page, "Beside");
      await graphs(page, "Picture", "Joint");
      await page.locator(".picture-host[data-layout]").waitFor();
    },
  },
  {
    name: "table",
    async go(page) {
      await graphs(page, "Table", "Forward");
      await page.locator(".graph-view table tbody tr, .graph-view [role=row]").first().waitFor();
    },
  },
  { name: "output", go: (page) => pane(page, "Output") },
  {
    name: "find",
    async go(page) {
      await graphs(page, "Text", "Backward");
      await page.getByRole("region", { name: /^(Graphs|Views)$/ }).getByRole("button", { name: "Find" }).first().click();
      await page.getByRole("textbox", { name: "Find" }).fill("aten.mm");
      await page.keyboard.press("Enter");
    },
  },
  {
    name: "saved",
    async go(page) {
      await graphs(page, "Text", "Backward");
      await pane(page, "Saved");
    },
  },
  {
    name: "partition",
    async go(page) {
      await pane(page, "Partition");
      await page.getByRole("tablist", { name: "Of the partition" }).getByRole("tab").first().click();
      await page.locator("[data-pane=partition]").getByRole("button", { name: "tanh", exact: true }).first().click();
    },
  },
  {
    name: "cut",
    async go(page) {
      await pane(page, "Partition");
      await page.getByRole("tablist", { name: "Of the partition" }).getByRole("tab", { name: "Cut" }).click();
      await page.locator(".network-picture .box").first().waitFor();
    },
  },
  {
    name: "compare",
    async go(page) {
      await pane(page, "Partition");
      await page.getByRole("tablist", { name: "Of the partition" }).getByRole("tab", { name: "Compare" }).click();
      await page.locator("table.compare").waitFor();
    },
  },
  {
    name: "memory",
    async go(page) {
      await pane(page, "Memory");
      await page.locator("[data-pane=memory] summary").click();
      await page.locator("[data-pane=memory] .curve .point").first().waitFor();
      await page.locator(".memory").evaluate((region) => region.scrollTo(0, 0));
    },
  },
  {
    name: "run",
    async go(page) {
      await pane(page, "Run");
      await onGpu(page);
      await button(page, "Run forward and backward");
      await page.locator("[data-pane=run] .summary").waitFor();
    },
  },
  {
    name: "value",
    async go(page) {
      await pane(page, "Run");
      await page.getByRole("button", { name: "Look at the elements of t_5" }).click();
      await page.locator(".detail").scrollIntoViewIfNeeded();
    },
  },
  {
    name: "kernels",
    async go(page) {
      await pane(page, "Run");
      await pane(page, "Kernels");
      await page.getByRole("button", { name: "WGSL" }).first().click();
      await page.locator(".wgsl .cm-content").waitFor();
    },
  },
  {
    name: "timing",
    async go(page) {
      await pane(page, "Run");
      await pane(page, "Timing");
      await button(page, "Time steps");
      await page.locator("tr[data-device=cpu]").waitFor();
    },
  },
  {
    name: "training",
    async go(page) {
      await pane(page, "Run");
      await pane(page, "Training");
      await button(page, "Train");
      await page.locator("caption", { hasText: "Parameters now" }).waitFor();
    },
  },
  {
    name: "device",
    async go(page) {
      await pane(page, "Run");
      await pane(page, "Device");
    },
  },
  {
    name: "examples",
    async go(page) {
      await button(page, "Examples");
      await page.locator(".gallery").waitFor();
    },
  },
  {
    name: "lesson",
    async go(page) {
      await button(page, "Examples");
      await button(page, "Tour: one script in six steps");
      await button(page, "Reveal the answer");
      await page.locator(".lesson-answer").waitFor();
    },
  },
  {
    name: "options",
    async go(page) {
      await button(page, "End the lesson");
      await button(page, "Options");
    },
  },
  {
    name: "backends",
    async go(page) {
      await button(page, "Options");
      await button(page, "Compare backends…");
      await page.getByRole("button", { name: /^Run under/ }).click();
      await page.locator(".ladder-verdict").waitFor();
    },
  },
  {
    name: "help",
    async go(page) {
      await button(page, "Help");
      await page.locator(".stages").waitFor();
    },
  },
  {
    name: "share",
    async go(page) {
      await button(page, "Share");
      await page.locator(".popover:popover-open [role=status]").waitFor();
    },
  },
  {
    name: "file",
    async go(page) {
      await button(page, "Share");
      await button(page, "One HTML file…");
      await page.locator(".dialog-file").getByRole("button", { name: "Download HTML file" }).waitFor();
    },
  },
  {
    name: "export",
    async go(page) {
      await button(page, "Share");
      await page.getByRole("button", { name: "Export" }).click();
      await page.locator("pre.preview-text").waitFor();
    },
  },
  {
    name: "differs",
    async go(page) {
      await button(page, "Share");
      await page.getByRole("button", { name: "Differs from PyTorch?" }).click();
      await page.locator("pre.preview-text", { hasText: "What PyTorch prints" }).waitFor();
    },
  },
  {
    name: "minimize",
    async go(page) {
      await button(page, "Share");
      await page.getByRole("button", { name: "Minimize the script" }).click();
      await page.locator(".dialog-minimize").getByRole("radio", { name: "An operator" }).check();
      await page.locator(".dialog-minimize").getByLabel("Operator", { exact: true }).fill("aten.tanh_backward");
      await page.locator(".dialog-minimize").getByRole("button", { name: "Start" }).click();
      await page.locator(".dialog-minimize [role=status]", { hasText: /statements? of \d+, / }).waitFor();
    },
  },
  {
    name: "aliasing",
    async go(page) {
      await example(page, "In-place writes");
      await settled(page);
      await pane(page, "Aliasing");
    },
  },
  {
    name: "guards",
    async go(page) {
      await example(page, "Dynamic shapes");
      await settled(page);
      await pane(page, "Guards");
    },
  },
  {
    name: "timeline",
    async go(page) {
      await example(page, "A graph break");
      await settled(page);
      await pane(page, "Timeline");
    },
  },
  {
    name: "breaks",
    async go(page) {
      await pane(page, "Guards");
      await page.locator("[data-pane=guards] .answers").first().waitFor();
    },
  },
  {
    name: "plot",
    async go(page) {
      await example(page, "A training loop");
      await settled(page);
      await pane(page, "Plot");
      await page.locator(".chart canvas").waitFor();
    },
  },
  {
    name: "exception",
    async go(page) {
      await pane(page, "Script");
      await write(page, 'import torch\n\n\n@torch.compile\ndef f(x, y):\n    return x @ y\n\n\nprint("shapes that do not fit:")\nf(torch.ones(2, 3), torch.ones(2, 3))\n');
      await page.locator('.status[data-state="ready"]').filter({ hasText: "after" }).waitFor();
      await pane(page, "Output");
      await page.locator(".traceback").waitFor();
    },
  },
  {
    name: "log",
    async go(page) {
      const chosen = page.waitForEvent("filechooser");
      await button(page, "Open");
      await (await chosen).setFiles([`${LOGS}06_dropout_sdpa.trace.txt`]);
      await pane(page, "Output");
      await page.locator(".log-text").first().waitFor();
      await pane(page, "Saved");
      await page.locator(".logged").waitFor();
    },
  },
  {
    name: "log-lines",
    async go(page) {
      await pane(page, "Script");
      await page.locator(".log-source button").first().click();
    },
  },
  {
    name: "log-timeline",
    async go(page) {
      await pane(page, "Timeline");
      await page.locator(".log table").first().waitFor();
    },
  },
  {
    name: "log-compare",
    async go(page) {
      const chosen = page.waitForEvent("filechooser");
      await button(page, "Open");
      await (await chosen).setFiles([`${LOGS}ranks/rank_0.txt`]);
      await button(page, "Compare…");
      await page.locator(".compare-found table").first().waitFor();
    },
  },
  {
    name: "log-texts",
    async go(page) {
      await button(page, "Compare…");
      await page.locator(".compare-found summary").first().click();
      await page.locator(".compare-texts .cm-content").first().waitFor();
      await page.locator(".compare-texts").first().scrollIntoViewIfNeeded();
    },
  },
  {
    name: "log-file",
    async go(page) {
      await button(page, "Share");
      await button(page, "One HTML file…");
      await page.locator(".dialog-file").getByLabel("Beside it").waitFor();
    },
  },
  {
    name: "log-linked",
    async go(page) {
      const chosen = page.waitForEvent("filechooser");
      await button(page, "Open");
      await (await chosen).setFiles([`${LOGS}two_ranks.py`]);
      await pane(page, "Script");
      await page.locator("[data-pane=script] .cm-made").first().waitFor();
    },
  },
];

/** Closes what is open, so that the next view stands alone. */
export async function leave(page) {
  await page.keyboard.press("Escape");
  const dismiss = page.locator(".notice").getByRole("button", { name: "Dismiss" });
  if (await dismiss.count()) await dismiss.click();
}

/** A frame in another page, by the link that Share gives; `options` of its address begin with `?`. */
export async function openFrame(page, base, options = "") {
  const hash = await sharedLink(page);
  await page.goto("about:blank");
  await page.goto(`${base}embed.html${options}${hash}`);
  await settled(page);
}
