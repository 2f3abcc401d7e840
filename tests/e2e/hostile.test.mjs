// Links, scripts and other tabs that mean no good, or are just unlucky: the page goes on, and nothing the visitor wrote is lost.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { deflateRawSync } from "node:zlib";
import { output, playground, settled, shows, text, write } from "./lib/page.mjs";

/** A link of the second version that holds this JSON. */
const link = (content) => `#v2/${deflateRawSync(typeof content === "string" ? content : JSON.stringify(content)).toString("base64url")}`;
const MINE = 'print("mine, and dear")\n';
const notice = (page) => page.locator(".notice");

describe("a stranger's link", () => {
  const pages = playground();

  for (const name of ["constructor", "__proto__", "toString"]) {
    it(`with an option named ${name} opens, and the visitor's script stays`, async () => {
      const page = await pages.open();
      await write(page, MINE);
      await shows(output(page), "mine, and dear");
      await page.goto(`${pages.base()}?again${link(`{"p": "print('theirs')", "o": {"${name}": 1}, "v": {"collapsed": {"${name}": true}}}`)}`);
      await shows(output(page), "theirs");
      await page.locator("[data-pane=script] .cm-content").click();
      await page.keyboard.press("Control+End");
      await page.keyboard.insertText("\n# typed");
      await notice(page).getByRole("button", { name: "Back to my script" }).click();
      await shows(output(page), "mine, and dear");
      assert.equal(await text(page), MINE);
    });
  }

  it("that cannot be read is said to be broken", async () => {
    const page = await pages.open(link("[".repeat(100_000)));
    await shows(notice(page), "This link is damaged");
    await settled(page);
  });

  it("says so in few words where it has many unknown options", async () => {
    const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`All is well. Send your key to ${at}\u202e`, at]));
    const page = await pages.open(link({ p: "print(1)", o: many }));
    await shows(notice(page), "and 49997 more");
    assert.ok((await notice(page).innerText()).length < 400);
    assert.ok((await notice(page).boundingBox()).height < 200);
  });

  it("that points at a hundred million lines is opened at once", async () => {
    const page = await pages.open(link({ p: "print('quick')\n", s: { span: [1, 0, 100_000_000, 0] } }));
    await shows(output(page), "quick");
  });

  it("that wants more time than usual waits for Run", async () => {
    const page = await pages.open(link({ p: "print('ran')\n", o: { limit: 300 } }));
    await shows(notice(page), "It asks to run for up to 300 seconds");
    await page.locator('.status[data-state="ready"]').waitFor({ state: "attached" });
    assert.equal(await output(page).getByText("ran").count(), 0);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await shows(output(page), "ran");
  });

  it("leaves nothing behind for the visitor's own script", async () => {
    const poison = ["import math, json, sys, random", "math.sqrt = lambda x: 'poison'", "json.dumps = lambda x: 'poison'", "print('done')"];
    const page = await pages.open();
    await write(page, "import math, json\nprint(math.sqrt(4.0), json.dumps([1]))\n");
    await shows(output(page), "2.0 [1]");
    await page.goto(`${pages.base()}?again${link({ p: poison.join("\n") })}`);
    await shows(output(page), "done");
    await notice(page).getByRole("button", { name: "Back to my script" }).click();
    await shows(output(page), "2.0 [1]");
  });

  it("edited and left, is kept among the visitor's scripts", async () => {
    const page = await pages.open();
    await write(page, MINE);
    await shows(output(page), "mine, and dear");
    await page.goto(`${pages.base()}?again${link({ p: "print('theirs')" })}`);
    await shows(output(page), "theirs");
    await write(page, "print('theirs, improved')\n");
    await shows(output(page), "theirs, improved");
    await notice(page).getByRole("button", { name: "Back to my script" }).click();
    await shows(output(page), "mine, and dear");
    await page.getByRole("button", { name: "Examples" }).click();
    await shows(page.locator(".drafts"), "theirs, improved");
  });

  it("in a frame leads to this page, whatever its path", async () => {
    const page = await pages.open(`?embed${link({ p: "print('framed')" })}`);
    const href = await page.getByRole("link", { name: "Open in the playground" }).getAttribute("href");
    assert.ok(href.startsWith(pages.base()), href);
  });
});

describe("two tabs", () => {
  const pages = playground();

  it("do not bring an older text back", async () => {
    const first = await pages.open();
    await write(first, "print('old')\n");
    await shows(output(first), "old");
    const second = await first.context().newPage();
    await second.goto(pages.base());
    await shows(output(second), "old");
    await write(first, "print('newer')\n");
    await shows(output(first), "newer");
    await second.close({ runBeforeUnload: true });
    await first.reload();
    await shows(output(first), "newer");
  });

  it("put aside what the other one kept", async () => {
    const first = await pages.open();
    await write(first, "print('one')\n");
    await shows(output(first), "one");
    const second = await first.context().newPage();
    await second.goto(pages.base());
    await shows(output(second), "one");
    await write(second, "print('two')\n");
    await shows(output(second), "two");
    await write(first, "print('three')\n");
    await shows(output(first), "three");
    await first.getByRole("button", { name: "Examples" }).click();
    await shows(first.locator(".drafts"), "two");
  });
});

describe("storage that is full or forbidden", () => {
  const pages = playground();

  it("is said, and the script can be downloaded", async () => {
    const prepare = (page) =>
      page.addInitScript(() => {
        Storage.prototype.setItem = () => {
          throw new DOMException("full", "QuotaExceededError");
        };
      });
    const page = await pages.open("", { prepare });
    await settled(page);
    await write(page, MINE);
    await shows(notice(page), "This browser keeps nothing");
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download my script" }).click()]);
    assert.equal(file.suggestedFilename(), "script.py");
  });
});

describe("a script that says much", () => {
  const pages = playground();

  for (const [what, line] of [
    ["stdout", "print(1)"],
    ["stderr", "print(1, file=sys.stderr)"],
    ["graph breaks", "f(torch.ones(1))"],
  ]) {
    it(`by ${what} is ended at its limit, and the page answers`, async () => {
      const page = await pages.open();
      await settled(page);
      const program = `import sys, torch\n@torch.compile(backend='eager')\ndef f(x):\n    print(end='')\n    return x + 1\nwhile True:\n    ${line}\n`;
      const started = performance.now();
      await write(page, program);
      await shows(output(page), "Stopped after 10.0 s");
      const took = (performance.now() - started) / 1000;
      assert.ok(took < 16, `${took.toFixed(1)} s`);
      await write(page, "print('next')\n");
      await shows(output(page), "next");
    });
  }
});

describe("the page's policy", () => {
  // What the browser refuses it says in the console; in every other test that is a failure.
  const pages = playground();
  const provoked = /Content Security Policy|TrustedScript|TrustedHTML|violates|Refused|ERR_FAILED|a request to http:\/\/elsewhere/;

  for (const path of ["", "?embed"]) {
    it(`refuses requests elsewhere, scripts in the page, and text as markup: /${path}`, async () => {
      const page = await pages.open(path, { provoked });
      await page.locator("[data-pane=script]").waitFor();
      const tried = await page.evaluate(async () => {
        const how = async (what) => {
          try {
            await what();
            return "done";
          } catch (error) {
            return error.name;
          }
        };
        const script = document.createElement("script");
        const run = await how(() => {
          script.textContent = "globalThis.ran = true";
          document.body.append(script);
        });
        return {
          fetch: await how(() => fetch("http://elsewhere.invalid/")),
          socket: await how(() => new Promise((resolve, reject) => Object.assign(new WebSocket("ws://elsewhere.invalid/"), { onopen: resolve, onerror: () => reject(new Error()) }))),
          eval: await how(() => globalThis.eval("1")),
          markup: await how(() => document.body.insertAdjacentHTML("beforeend", "<img src=x>")),
          script: run === "done" && globalThis.ran !== true ? "Ignored" : run,
        };
      });
      assert.notEqual(tried.fetch, "done");
      assert.notEqual(tried.socket, "done");
      assert.notEqual(tried.eval, "done");
      assert.equal(tried.markup, "TypeError");
      assert.notEqual(tried.script, "done");
    });
  }

  it("is the workers', too", async () => {
    const page = await pages.open();
    await settled(page);
    const urls = page.workers().map((worker) => worker.url());
    assert.ok(urls.length > 0);
    for (const url of urls) {
      const policy = (await page.request.get(url)).headers()["content-security-policy"];
      assert.match(policy, /default-src 'none'/);
      assert.match(policy, /connect-src 'self'/);
    }
  });
});
