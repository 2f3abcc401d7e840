// One HTML file: what is shown, with what shows it. It opens from a disk, asks for nothing, and nothing of the reports becomes markup.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { findings } from "./lib/axe.mjs";
import { COMPILED, playground, settled, shows, stage, write } from "./lib/page.mjs";
import { pane } from "./lib/views.mjs";

const LOGS = new URL("../../crates/trace/tests/trace/logs/", import.meta.url);
const folder = mkdtempSync(join(tmpdir(), "file-"));
after(() => rmSync(folder, { recursive: true }));

async function openLogs(page, ...names) {
  const chosen = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await (await chosen).setFiles(names.map((name) => ({ name: name.split("/").at(-1), mimeType: "text/plain", buffer: readFileSync(new URL(name, LOGS)) })));
  await page.getByRole("region", { name: "Logs" }).getByRole("button", { pressed: true, name: names[0].split("/").at(-1) }).waitFor();
}

/** Opens the dialog, does what `choose` does there, and gives the file: where it lies, what is in it, what it holds. */
async function fileOf(page, choose = async () => {}) {
  await page.getByRole("button", { name: "Share", exact: true }).click();
  await page.getByRole("button", { name: "One HTML file…" }).click();
  const dialog = page.getByRole("dialog", { name: "One HTML file" });
  await choose(dialog);
  const arrives = page.waitForEvent("download");
  await dialog.getByRole("button", { name: "Download HTML file" }).click();
  const download = await arrives;
  const path = join(folder, download.suggestedFilename());
  await download.saveAs(path);
  const html = readFileSync(path, "utf8");
  const held = /<script type="text\/plain" id="reports">([\w+/=]+)<\/script>/.exec(html)[1];
  return { path, html, held, report: gunzipSync(Buffer.from(held, "base64")).toString() };
}

describe("one HTML file", () => {
  const pages = playground();
  const fromDisk = (path, options = {}) => pages.open("", { elsewhere: pathToFileURL(path).href, offline: true, ...options });

  it("holds a log without paths, the script's run and what differs, and opens from a disk", async () => {
    const page = await pages.open();
    await settled(page);
    await openLogs(page, "01_mlp.trace.txt");
    const { path, html, held, report } = await fileOf(page, async (dialog) => {
      await shows(dialog, "Paths and lines of source are left out");
      await dialog.getByLabel("Beside it").selectOption("this script's run");
    });
    assert.ok(html.length - held.length < 3e6, `${html.length - held.length} bytes without the reports`);
    assert.doesNotMatch(report, /home\/user/);
    // What it is made of stands in it: nothing has an address of its own.
    assert.doesNotMatch(html.slice(0, html.indexOf("<style")), /(?:src|href)="(?!data:)/);
    for (const viewport of [{ width: 1440, height: 900 }, { width: 390, height: 780 }]) {
      const file = await fromDisk(path, { viewport, reducedMotion: "reduce" });
      const found = await findings(file, "file");
      await pane(file, "Graphs");
      await stage(file, "Backward");
      await shows(file.locator(".graph-text"), "tangents_1");
      await file.getByRole("tab", { name: "Picture" }).click();
      await file.locator(".picture-host[data-layout]").waitFor();
      await pane(file, "Saved");
      assert.deepEqual(await file.locator("[data-pane=saved] .saved-name").allTextContents(), ["primals_4", "relu", "tanh", "primals_3", "primals_6"]);
      await pane(file, "Memory");
      await file.locator("[data-pane=memory] [data-peak]").nth(3).waitFor();
      found.push(...(await findings(file, "file, memory")));
      await file.getByRole("button", { name: "Compare…" }).click();
      await file.locator(".compare-found table").first().waitFor();
      found.push(...(await findings(file, "file, compare")));
      await file.keyboard.press("Escape");
      await file.getByRole("button", { pressed: false, name: "This script's run" }).click();
      await pane(file, "Script");
      await shows(file.locator("[data-pane=script] .cm-content"), "import torch");
      await pane(file, "Output");
      await shows(file.locator("[data-pane=output]"), "loss 1.3685");
      assert.equal(found.join("\n"), "");
    }
  });

  it("of a script takes nothing of it for markup, and says what it can't compute; of a log it holds paths where that is wanted, and its ranks", async () => {
    const page = await pages.open();
    await write(page, `"""</script><img src=x>"""\nprint("</script><script>alert(1)</script>{nonce}{reports}")\n${COMPILED}`);
    await shows(page.locator(".graph-text"), "aten.sin");
    await settled(page);
    const { path } = await fileOf(page);
    const file = await fromDisk(path);
    await shows(file.locator("[data-pane=output]"), "</script><script>alert(1)</script>{nonce}{reports}");
    assert.equal(await file.locator("img").count(), 0);
    await shows(file.locator(".graph-text"), "aten.sin");
    await pane(file, "Partition");
    await file.getByRole("combobox", { name: /^Partition/ }).selectOption("budget");
    await file.locator("[data-pane=partition]").getByRole("slider", { name: "Budget" }).fill("0.3");
    await shows(file.locator("[data-pane=partition]"), "computes nothing itself");
    assert.equal(await file.getByRole("tab", { name: "Run on GPU" }).count(), 0);
    assert.deepEqual(await file.evaluate(() => Object.keys(localStorage)), []);

    await page.keyboard.press("Escape");
    await openLogs(page, "ranks/rank_0.txt", "ranks/rank_1.txt");
    const ofRanks = await fileOf(page, async (dialog) => {
      await dialog.getByLabel("Beside it").selectOption("its other ranks");
      await dialog.getByLabel("With paths and source").check();
    });
    assert.match(ofRanks.report, /home\/user/);
    const other = await fromDisk(ofRanks.path);
    await other.getByRole("button", { name: "Compare…" }).click();
    await shows(other.locator(".compare-found"), "rank 0 [0/0] and rank 1 [0/0]: differs");
    await other.getByText("Graphs, line by line").first().click();
    await other.locator(".compare-texts .cm-changedLine").first().waitFor();
  });
});
