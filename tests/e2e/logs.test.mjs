// What PyTorch wrote is opened in the page: dropped, chosen or pasted. It is shown where a run is, compared, kept until it is closed; what
// can't be read is said in a sentence, and nothing of the visitor's is lost.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { crc32, gunzipSync } from "node:zlib";
import { playground, settled, shows, stage, text, write } from "./lib/page.mjs";
import { pane } from "./lib/views.mjs";

const LOGS = new URL("../../crates/trace/tests/trace/logs/", import.meta.url);
const log = (name, as = name.split("/").at(-1)) => ({ name: as, mimeType: "text/plain", buffer: readFileSync(new URL(name, LOGS)) });

/** Chooses files with the header's button. */
async function choose(page, ...files) {
  const chosen = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await (await chosen).setFiles(files);
}

/** Pastes a text into the script. */
async function paste(page, content) {
  await page.evaluate((content) => navigator.clipboard.writeText(content), content);
  await page.locator("[data-pane=script] .cm-content").click();
  await page.keyboard.press("Control+v");
}

const bar = (page) => page.getByRole("region", { name: "Logs" });
const shown = (page, name) => bar(page).getByRole("button", { name, exact: true, pressed: true }).waitFor();

describe("what PyTorch wrote", () => {
  const pages = playground();

  it("is shown where a run is, kept until it is closed, and the script stays", async () => {
    const page = await pages.open();
    await settled(page);
    await write(page, 'print("mine")');
    await shows(page.locator("[data-pane=output]"), "mine");
    await choose(page, log("01_mlp.trace.txt"));
    await shown(page, "01_mlp.trace.txt");
    await stage(page, "Backward");
    await shows(page.locator(".graph-text"), "tangents_1");
    // What is saved is decided here as there, and explained.
    await pane(page, "Saved");
    await page.locator('.logged[data-same="true"]').waitFor();
    assert.deepEqual(await page.locator("[data-pane=saved] .saved-name").allTextContents(), ["primals_4", "relu", "tanh", "primals_3", "primals_6"]);
    await pane(page, "Memory");
    await page.locator("[data-pane=memory] [data-peak]").first().waitFor();
    await shows(page.locator("[data-pane=output]"), "nothing is uploaded");
    await page.reload();
    await settled(page);
    await bar(page).getByRole("button", { name: "01_mlp.trace.txt", exact: true }).click();
    await shows(page.locator(".graph-text"), "primals_1");
    await bar(page).getByRole("button", { name: "Close 01_mlp.trace.txt" }).click();
    await bar(page).getByRole("button", { name: "Delete" }).click();
    await bar(page).waitFor({ state: "detached" });
    assert.equal(await text(page), 'print("mine")');
    await page.reload();
    await settled(page);
    assert.equal(await bar(page).count(), 0);
  });

  it("is recognized where it is pasted, and may stand in the script all the same", async () => {
    const page = await pages.open();
    await write(page, 'print("mine")\n');
    await paste(page, readFileSync(new URL("2.4.1/21_dynamic_true.torch_logs.txt", LOGS), "utf8"));
    await page.getByRole("button", { name: /^Open \d+ graphs of this log$/ }).click();
    await shows(page.locator(".graph-text"), "primals_1");
    await bar(page).getByRole("button", { name: "Script", exact: true }).click();
    assert.equal(await text(page), 'print("mine")\n');
    await write(page, "");
    await paste(page, "class GraphModule(torch.nn.Module):\n    def forward(self, primals_1: \"f32[2][1]cpu\"):\n        return (primals_1,)\n");
    await page.getByRole("button", { name: "Insert it as text" }).click();
    assert.match(await text(page), /^class GraphModule/);
  });

  it("never becomes markup, and what is none is refused in a sentence", async () => {
    const page = await pages.open();
    await settled(page);
    await choose(page, log("failing.trace.txt", "<img src=x onerror=alert(1)>.log"));
    await shown(page, "<img src=x onerror=alert(1)>.log");
    await shows(page.locator("[data-pane=output]"), "<img src=x");
    assert.equal(await page.locator("img:not(.brand img)").count(), 0);
    const nested = { name: "logs.zip", mimeType: "application/zip", buffer: zipOf("inner.gz", Buffer.from([0x1f, 0x8b, 8, 0])) };
    await choose(page, nested);
    await shows(page.locator(".notice"), "logs.zip/inner.gz holds an archive in an archive: unpack the outer one first. What was shown is as it was.");
    await choose(page, { name: "a.log", mimeType: "text/plain", buffer: Buffer.from("hello") });
    await shows(page.locator(".notice"), "a.log:1: this is no log, trace or graph that PyTorch writes; it begins with `hello`.");
    await shown(page, "<img src=x onerror=alert(1)>.log");
  });

  it("answers questions: other sizes, another partitioner, a run with random inputs", async () => {
    const page = await pages.open();
    await settled(page);
    await choose(page, log("21_dynamic_true.trace.txt"));
    await pane(page, "Saved");
    await shows(page.locator("[data-pane=saved] [data-listed]"), "168 B");
    await page.getByLabel("s77").fill("100");
    await page.getByLabel("s77").press("Enter");
    await shows(page.locator("[data-pane=saved] [data-listed]"), "5.5 KiB");
    await pane(page, "Partition");
    await page.getByRole("combobox", { name: /^Partition/ }).selectOption("default");
    await shows(page.locator("[data-pane=partition] .summary"), "default_partition");
    await pane(page, "Run");
    await page.getByLabel("Device", { exact: true }).selectOption("cpu");
    await page.getByRole("button", { name: "Draw random inputs" }).click();
    await page.getByRole("button", { name: "Run forward and backward" }).click();
    await shows(page.locator("[data-pane=run] .summary"), "Same as the CPU");
  });

  it("is shared without paths and source, by a link or a file", async () => {
    const page = await pages.open();
    await settled(page);
    await choose(page, log("06_dropout_sdpa.trace.txt"));
    await shown(page, "06_dropout_sdpa.trace.txt");
    await page.getByRole("button", { name: "Share" }).click();
    const share = page.getByRole("dialog", { name: "Share" });
    await shows(share, "Paths and lines of source are left out");
    const arrives = page.waitForEvent("download");
    await share.getByRole("button", { name: /^Download .aotz \(/ }).click();
    const file = { name: "shared.aotz", mimeType: "application/gzip", buffer: readFileSync(await (await arrives).path()) };
    assert.equal(/.{0,80}(?:\/home\/user|F\.dropout\().*/.exec(gunzipSync(file.buffer).toString())?.[0], undefined);
    await share.getByRole("button", { name: "Copy link", exact: true }).click();
    await shows(share, "The link is on your clipboard.");
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(link, /#v3\//);
    await page.keyboard.press("Escape");
    await choose(page, file);
    await shown(page, "shared.aotz");
    const other = await pages.open(link.slice(link.indexOf("#")));
    await shown(other, "06_dropout_sdpa.trace.txt");
    await shows(other.locator(".notice"), "This log came with the link");
    await pane(other, "Saved");
    await other.locator('.logged[data-same="true"]').waitFor();
  });

  it("takes the script that it is of: its lines are chosen with the nodes", async () => {
    const page = await pages.open();
    await settled(page);
    await choose(page, log("ranks/rank_0.txt"));
    await shown(page, "rank_0.txt");
    await shows(page.locator(".log-source"), "two_ranks.py");
    await choose(page, log("two_ranks.py"));
    await shows(page.locator(".notice"), "two_ranks.py is linked with the log");
    const script = page.locator("[data-pane=script]");
    await shows(script.locator(".cm-content"), "import torch");
    assert.ok((await script.locator(".cm-made").count()) > 0);
    await stage(page, "Forward");
    await page.locator(".graph-text .cm-line", { hasText: "aten.gelu" }).first().click();
    await shows(script.locator(".cm-linked"), "return m(x)");
    await script.locator(".cm-made", { hasText: "return m(x)" }).first().click();
    await page.locator(".graph-text .cm-linked", { hasText: "aten.gelu" }).first().waitFor();
    // It may be opened as the visitor's own all the same, and the log stays.
    await page.getByRole("button", { name: "Open as my script instead" }).click();
    await bar(page).getByRole("button", { name: "Script", exact: true, pressed: true }).waitFor();
    assert.match(await text(page), /^import/m);
    await bar(page).getByRole("button", { name: "rank_0.txt", exact: true }).click();
    await page.locator(".log-source").waitFor();
  });

  it("is compared: ranks, and the script's own run", async () => {
    const page = await pages.open();
    await settled(page);
    await choose(page, log("ranks/rank_0.txt"), log("ranks/rank_1.txt"));
    await shown(page, "rank_0.txt and 1 more");
    await page.getByRole("button", { name: "Compare…" }).click();
    await shows(page.locator(".compare-found"), "rank 0 [0/0] and rank 1 [0/0]: differs");
    await shows(page.locator(".compare-ranks"), "rank_0.txt and 1 more, beside rank 0: rank 1 differs, first in rank 1 [0/0]");
    const first = page.locator(".compare-found table").first().locator("tbody tr").first();
    assert.deepEqual((await first.locator("th, td").allTextContents()).slice(0, 6), ["addmm", "float32[8, 16]", "512 B", "float32[5, 16]", "320 B", "−192 B"]);
    await page.getByRole("button", { name: "Add this script's run" }).click();
    await page.getByLabel("Second: log").locator("option", { hasText: "this script" }).waitFor({ state: "attached" });
    await page.getByLabel("First: compilation").selectOption("0");
    const own = await page.getByLabel("Second: log").locator("option", { hasText: "this script" }).getAttribute("value");
    await page.getByLabel("Second: log").selectOption(own);
    await shows(page.locator(".compare-found"), "aten.gelu.default");
  });
});

/** A zip with one file that is stored as it is. */
function zipOf(name, content) {
  const crc = crc32(content);
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0);
  fields.writeUInt32LE(crc, 10);
  fields.writeUInt32LE(content.length, 14);
  fields.writeUInt32LE(content.length, 18);
  fields.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from("PK\x03\x04"), fields, Buffer.from(name), content]);
  const central = Buffer.concat([Buffer.from("PK\x01\x02\x14\x00"), fields, Buffer.alloc(14), Buffer.from(name)]);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(1, 4);
  end.writeUInt16LE(1, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(local.length, 12);
  return Buffer.concat([local, central, Buffer.from("PK\x05\x06"), end]);
}
