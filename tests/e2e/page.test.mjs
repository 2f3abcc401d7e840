// The page as a visitor meets it: load, edit, errors, stop, share.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { choose, COMPILED, output, playground, settled, shows, stage, text, write } from "./lib/page.mjs";

/** The most a first visit may transfer besides the interpreter, whose own limit the build keeps: in bytes, as served. */
const BUDGET = 0.4e6;
describe("the page", () => {
  const playgroundPage = playground();

  it("runs its example on load, within the budget of bytes", async (t) => {
    let transferred = 0;
    let modules = 0;
    const prepare = (page) => {
      page.context().on("response", (response) => {
        // The service worker keeps everything, in its own time.
        if (response.request().serviceWorker()) return;
        const length = Number(response.headers()["content-length"] ?? 0);
        if (response.url().endsWith(".wasm")) modules += length;
        else transferred += length;
      });
    };
    const started = performance.now();
    const page = await playgroundPage.open("", { prepare });
    await page.locator("[data-pane=script] .cm-content").waitFor();
    const editor = performance.now() - started;
    await shows(output(page), "loss");
    await settled(page);
    const all = performance.now() - started;
    await stage(page, "Backward");
    await shows(page.locator(".graph-text"), "tangents_1");
    assert.equal(await page.locator(".output .traceback").count(), 0);
    assert.ok(modules > 1e6, `the interpreter is not among what was transferred: ${modules} bytes of modules`);
    assert.ok(transferred < BUDGET, `${transferred} bytes were transferred`);
    t.diagnostic(`${(transferred / 1e6).toFixed(2)} and ${(modules / 1e6).toFixed(2)} MB transferred, editor after ${editor.toFixed(0)} ms, output after ${all.toFixed(0)} ms`);
  });

  it("fetches the rest of the library when a script imports from it, and once", async () => {
    const asked = [];
    const page = await playgroundPage.open("", { prepare: (page) => page.on("request", (request) => /library-.*\.bin$/.test(request.url()) && asked.push(request)) });
    await settled(page);
    assert.equal(asked.length, 0, "the example imports nothing of it");
    await write(page, "import datetime\nprint(datetime.date(2026, 1, 2))");
    await shows(output(page), "2026-01-02");
    await write(page, "import torch\nprint(torch.distributions.Normal(0.0, 1.0).mean)");
    await shows(output(page), "tensor(0.)");
    assert.equal(asked.length, 1);
  });

  it("says so where the rest of the library cannot be fetched, and tries again", async () => {
    let fails = true;
    const provoked = /status of 503/;
    const page = await playgroundPage.open("", { provoked, prepare: (page) => page.context().route(/library-.*\.bin$/, (route) => (fails ? route.fulfill({ status: 503 }) : route.continue())) });
    await settled(page);
    await write(page, "import datetime");
    await shows(page.locator(".output .traceback"), "ImportError: the rest of the library could not be fetched: 503");
    await write(page, "print(1)");
    await shows(output(page), "1");
    fails = false;
    await write(page, "import datetime\nprint(datetime.date(2026, 1, 2))");
    await shows(output(page), "2026-01-02");
  });

  it("lets the visitor write before the interpreter has arrived", async () => {
    let release;
    const held = new Promise((resolve) => (release = resolve));
    const page = await playgroundPage.open("", {
      prepare: (page) =>
        page.route("**/*.wasm", async (route) => {
          await held;
          await route.continue();
        }),
    });
    await write(page, 'print("early")');
    await shows(page.locator(".status"), /Loading|Starting/);
    release();
    await shows(output(page), "early");
  });

  it("runs again on a pause in typing, and marks what is saved", async () => {
    const page = await playgroundPage.open();
    await write(page, COMPILED);
    await stage(page, "Forward");
    await shows(page.locator(".graph-text"), "aten.sin");
    await page.locator(".graph-text .cm-saved").first().waitFor();
    for (const [name, expected] of [["Captured", "sin"], ["Joint", "tangents"], ["Backward", "aten.cos"]]) {
      await stage(page, name);
      await shows(page.locator(".graph-text"), expected);
    }
    await page.getByRole("tab", { name: "Saved values" }).click();
    await shows(page.locator("[data-pane=saved] tbody"), "float32");
  });

  it("lets a plain torch.compile stand for another backend", async () => {
    const page = await playgroundPage.open();
    await write(page, "import torch\nf = torch.compile(torch.nn.functional.gelu)\nf(torch.ones(3, requires_grad=True)).sum().backward()\n");
    await stage(page, "Forward");
    await shows(page.locator(".graph-text"), "aten.gelu.default");
    await choose(page, "Backend", "inductor");
    await shows(page.locator(".graph-text"), "aten.erf.default");
    await choose(page, "Backend", "eager");
    await page.getByRole("tab", { name: "Forward" }).waitFor({ state: "detached" });
  });

  it("links lines of the script and of the graphs", async () => {
    const page = await playgroundPage.open();
    await write(page, COMPILED);
    await stage(page, "Joint");
    await page.locator(".graph-text .cm-line", { hasText: "aten.sin.default" }).click();
    await shows(page.locator("[data-pane=script] .cm-linked"), "x.sin()");
    await page.locator("[data-pane=script] .cm-line", { hasText: "x.sin()" }).click();
    await shows(page.locator(".graph-text .cm-linked").first(), "aten");
  });

  it("stops a script that does not end, keeps what was known, and runs the next", async () => {
    const page = await playgroundPage.open();
    await settled(page);
    await write(page, 'print("before")\nwhile True:\n    pass\n');
    await shows(output(page), "before");
    await page.getByRole("button", { name: "Stop" }).click();
    await shows(output(page), "Stopped. What was known by then is shown.");
    await shows(output(page), "before");
    await write(page, 'print("after")');
    await shows(output(page), "after");
    await settled(page);
  });

  it("stops a script at the time limit", async () => {
    const page = await playgroundPage.open();
    await page.getByRole("button", { name: "Options" }).click();
    await page.getByLabel("Time limit").selectOption("5 s");
    await write(page, "while True:\n    pass\n");
    await shows(output(page), /time limit/);
    await write(page, 'print("after")');
    await shows(output(page), "after");
  });

  it("ends a running script when it is changed", async () => {
    const page = await playgroundPage.open();
    await settled(page);
    await write(page, 'print("goes on")\nwhile True:\n    pass\n');
    await shows(output(page), "goes on");
    await write(page, 'print("changed")');
    await shows(output(page), "changed");
    await settled(page);
  });

  it("shows a syntax error, its line, and the last graphs as old", async () => {
    const page = await playgroundPage.open();
    await write(page, COMPILED);
    await shows(page.locator(".graph-text"), "sin");
    await write(page, "x = 1\ny = (\n");
    await shows(output(page).locator(".traceback"), "SyntaxError");
    await page.locator("[data-pane=script] .cm-raised").waitFor();
    await shows(page.locator(".graphs .stale"), "run before");
    await shows(page.locator(".graph-text"), "sin");
  });

  it("shows an exception with its traceback, and goes to its line", async () => {
    const page = await playgroundPage.open();
    await write(page, 'def g():\n    raise ValueError("no such luck")\n\nprint("first")\ng()\n');
    await shows(output(page).locator(".traceback"), "ValueError: no such luck");
    await shows(output(page), "first");
    await shows(page.locator("[data-pane=script] .cm-raised"), "raise ValueError");
    await output(page).getByRole("button", { name: "line 2" }).click();
    await shows(page.locator("[data-pane=script] .cm-linked"), "raise ValueError");
  });

  it("says that an operator is not there", async () => {
    const page = await playgroundPage.open();
    await write(page, "import torch\ntorch.no_such_operator(torch.ones(2))\n");
    await shows(output(page).locator(".traceback"), /AttributeError.*no_such_operator/s);
  });

  it("shows markup as text, printed and raised", async () => {
    const page = await playgroundPage.open();
    const markup = "<img src=x onerror=\"document.title='owned'\">";
    await write(page, `print('''${markup}''')\nclass E(Exception): pass\nE.__name__ = '''${markup}'''\nraise E('''${markup}''')\n`);
    await shows(output(page).locator(".traceback"), markup);
    await shows(output(page).locator(".stdout"), markup);
    await settled(page);
    assert.equal(await page.locator("main img").count(), 0);
    assert.equal(await page.title(), "AOT Playground");
  });

  it("completes names of PyTorch's, and explains them", async () => {
    const page = await playgroundPage.open();
    await write(page, "import torch\nimport torch.nn.functional as F\ny = F.relu(torch.ones(2))\nprint(y)\n");
    await shows(output(page), "tensor([1., 1.])");
    await page.keyboard.type("F.soft", { delay: 20 });
    const list = page.locator(".cm-tooltip-autocomplete");
    await list.getByText("softmax", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await list.waitFor({ state: "detached" });
    await page.locator("[data-pane=script] .cm-line", { hasText: "F.relu" }).getByText("relu").hover();
    await shows(page.locator(".cm-tooltip .cm-signature"), "torch.nn.functional.relu(input, inplace=False)");
  });

  it("keeps the visitor's script between visits", async () => {
    const page = await playgroundPage.open();
    await write(page, 'print("mine")');
    await shows(output(page), "mine");
    await page.reload();
    await shows(output(page), "mine");
    assert.equal(await text(page), 'print("mine")');
  });
});
