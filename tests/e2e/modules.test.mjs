// Files beside the script: tabs, what is dropped, links, lines of graphs; and packages that are fetched.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ROOT } from "../../scripts/lib/config.mjs";
import { output, playground, settled, sharedLink, shows, text, write } from "./lib/page.mjs";

const SCRIPT = `import torch
from model import scale
from helpers import double

@torch.compile
def f(x):
    return double(scale(x)).sum()

print("sum", f(torch.ones(3, requires_grad=True)).item())
`;
const HELPERS = "import torch\n\n\ndef double(x):\n    return torch.sin(x) * 2\n";

const tab = (page, name) => page.getByRole("tablist", { name: "Files" }).getByRole("tab", { name, exact: true });

async function addFile(page, name, content) {
  await page.getByRole("button", { name: "Add file" }).click();
  await page.getByRole("textbox", { name: "Name of the file" }).fill(name);
  await page.keyboard.press("Enter");
  await page.locator(".file-tabs form").waitFor({ state: "detached" });
  await write(page, content);
}

/** Lets go of files over the page, by their names and bytes. */
async function drop(page, files) {
  const data = await page.evaluateHandle((files) => {
    const transfer = new DataTransfer();
    for (const [name, bytes] of files) transfer.items.add(new File([new Uint8Array(bytes)], name));
    return transfer;
  }, files.map(([name, content]) => [name, [...Buffer.from(content)]]));
  await page.dispatchEvent("[data-pane=script] .cm-content", "drop", { dataTransfer: data });
}

/** A wheel that Python wrote. */
function wheel(files) {
  const folder = mkdtempSync(join(tmpdir(), "wheel-"));
  const code = `import json, sys, zipfile
with zipfile.ZipFile("a.whl", "w", zipfile.ZIP_DEFLATED) as archive:
    for name, text in json.loads(sys.argv[1]).items():
        archive.writestr(name, text)`;
  execFileSync("python3", ["-c", code, JSON.stringify(files)], { cwd: folder });
  return readFileSync(join(folder, "a.whl"));
}

describe("files beside the script", () => {
  const pages = playground();

  it("are written in tabs, imported, kept, linked to and closed", async () => {
    const page = await pages.open();
    await settled(page);
    await addFile(page, "helpers.py", HELPERS);
    await addFile(page, "model/__init__.py", "from .parts import scale\n");
    await addFile(page, "model/parts.py", "def scale(x):\n    return x * 3\n");
    await tab(page, "script.py").click();
    await write(page, SCRIPT);
    await shows(output(page), /^sum 0.84/);
    // A line of a graph brings its file to the front.
    const line = page.locator(".graph-text .cm-line");
    await line.filter({ hasText: "aten.sin" }).first().click();
    await page.locator('[role=tab][aria-selected="true"]', { hasText: "helpers.py" }).waitFor();
    await shows(page.locator("[data-pane=script] .cm-linked"), "return torch.sin(x) * 2");
    await shows(line.first().locator("xpath=.."), "File: helpers.py:5 in double, code: return torch.sin(x) * 2");
    // Tabs are gone through by keys.
    await tab(page, "helpers.py").focus();
    await page.keyboard.press("ArrowRight");
    await shows(page.locator("[data-pane=script] .cm-content"), "from .parts import scale");
    // What is wrong in a file is marked there.
    await tab(page, "model/parts.py").click();
    await write(page, "def scale(x):\n    return x * missing\n");
    await shows(output(page), "model/parts.py:2");
    await page.locator("[data-pane=script] .cm-raised", { hasText: "missing" }).waitFor();
    await write(page, "def scale(x):\n    return x * 0\n");
    await shows(output(page), /^sum 0/);
    // A link has all of it, and so has what is kept.
    const link = await sharedLink(page);
    await shows(page.locator(".popover:popover-open"), "3 files beside it");
    assert.match(link, /^#v5\//);
    const other = await pages.open(link);
    await shows(output(other), /^sum 0/);
    assert.deepEqual(await other.getByRole("tablist", { name: "Files" }).getByRole("tab").allTextContents(), ["script.py", "helpers.py", "model/__init__.py", "model/parts.py"]);
    await page.keyboard.press("Escape");
    await page.goto(pages.base());
    await shows(output(page), /^sum 0/);
    // What is closed is gone, and comes back.
    await tab(page, "helpers.py").click();
    await page.getByRole("button", { name: "Close helpers.py" }).click();
    await shows(output(page), "ModuleNotFoundError: No module named 'helpers'");
    await page.getByRole("button", { name: "Bring it back" }).click();
    await shows(output(page), /^sum 0/);
  });

  it("are those that are dropped: files, and a wheel's", async () => {
    const page = await pages.open();
    await write(page, "import one, two, package.inner\nprint(one.x, two.x, package.inner.__file__)\n");
    await shows(output(page), "No module named 'one'");
    await drop(page, [["one.py", "x = 1\n"], ["two.py", "x = 2\n"], ["notes.txt", "no"]]);
    await shows(page.locator(".notice"), "2 files are beside the script");
    await shows(output(page), "No module named 'package'");
    await drop(page, [["package-1.0-py3-none-any.whl", wheel({ "package/__init__.py": "", "package/inner.py": "x = 3\n", "package-1.0.dist-info/METADATA": "" })]]);
    await shows(output(page), "1 2 package/inner.py");
    await tab(page, "script.py").click();
    assert.match(await text(page), /^import one/);
    // One script is opened as before, and can be put beside instead.
    await drop(page, [["three.py", "x = 3\n"]]);
    await page.getByRole("button", { name: "Add it beside my script instead" }).click();
    await tab(page, "three.py").waitFor();
    await shows(output(page), "1 2 package/inner.py");
  });

  const assets = join(process.env.PAGE ?? `${ROOT}www/dist`, "assets");
  const hasEinops = existsSync(assets) && readdirSync(assets).some((name) => /^einops-.*\.json$/.test(name));
  it("may be a package that the page fetches", { skip: !hasEinops && "the page was built without it" }, async () => {
    const page = await pages.open();
    await write(page, 'import torch\nfrom einops import rearrange\n\n@torch.compile\ndef f(x):\n    return rearrange(x, "a b -> b a").sin()\n\nprint(f(torch.ones(2, 3)).shape)\n');
    await shows(output(page), "torch.Size([3, 2])");
    await page.locator(".graph-text .cm-line", { hasText: "aten.permute" }).first().click();
    await shows(page.locator("[data-pane=script] .cm-linked"), 'return rearrange(x, "a b -> b a")');
  });

  it("may be numpy, whose numbers are numpy's", async () => {
    const page = await pages.open();
    await write(page, "import numpy as np\nimport torch\n\na = np.random.default_rng(0).normal(size=2)\nprint(a, torch.from_numpy(a * 2).sum().item() < 0)\n");
    await shows(output(page), "[ 0.12573022 -0.13210486] True");
  });
});
