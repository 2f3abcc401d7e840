// What a file holds that shows reports by itself: it comes out as it went in, and nothing of it is markup where it stands.
import { describe, expect, it } from "vitest";
import { filled } from "../src/exports/html-file";
import { emptyReport } from "../src/report/fold";
import { EMPTY } from "../src/report/timeline";
import { answerKey, type KeptRun, pack, unpack } from "../src/viewer/kept";
import { answering, runOfPart } from "../src/viewer/parts";
import { NONCE, REPORTS } from "../src/viewer/template";

const hostile = "</script><img src=x onerror=alert(1)>{nonce}$&";
const eager = { ask: "eager" } as const;

const run = (): KeptRun => ({
  kind: "run",
  title: hostile,
  program: hostile,
  files: [],
  backend: "aot_eager",
  report: { ...emptyReport(), stdout: hostile },
  printed: [{ stream: "stdout", text: hostile }],
  timeline: EMPTY,
  outcome: { kind: "finished" },
  elapsed: 1,
  names: [],
  answers: [[answerKey(0, eager), { answer: "failed", message: "known" }]],
});

describe("a file that holds reports", () => {
  it("gives them back, and stands in a page as letters alone", async () => {
    const text = await pack({ parts: [run()], notes: ["one"] });
    expect(text).toMatch(/^[\w+/=]+$/);
    const kept = await unpack(`\n${text}\n`);
    expect(kept).toMatchObject(JSON.parse(JSON.stringify({ parts: [run()], notes: ["one"] })));
    await expect(unpack("")).rejects.toThrow();
    await expect(unpack(REPORTS)).rejects.toThrow();
  });

  it("is the viewer with its places filled, and its script as it was", () => {
    const script = `<script type="module">const a = "${NONCE}", b = "${REPORTS}";</script>`;
    const template = `style-src 'nonce-${NONCE}'<style nonce="${NONCE}"></style><script type="text/plain">${REPORTS}</script>${script}`;
    expect(filled(template, "abc", "n1")).toBe(`style-src 'nonce-n1'<style nonce="n1"></style><script type="text/plain">abc</script>${script}`);
  });

  it("answers what was asked when it was made, and says that it computes nothing else", async () => {
    const ask = answering(run().answers);
    expect(await ask(0, eager)).toEqual({ answer: "failed", message: "known" });
    expect(await ask(1, eager)).toMatchObject({ answer: "failed", message: expect.stringContaining("computes nothing") });
    expect(runOfPart(run(), 0)).toMatchObject({ program: hostile, printed: run().printed, report: run().report });
  });
});
