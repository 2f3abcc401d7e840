// @vitest-environment node
import { describe, expect, it } from "vitest";
import { decodeLink, encodeLesson, encodeLink, encodeLog } from "../src/state/link";
import { DEFAULTS } from "../src/state/options";
import { KEPT } from "./links";

const program = 'import torch\nprint("häß → 🔥")\n';

async function pack(content: string): Promise<string> {
  const packed = new Blob([content]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

describe("links", () => {
  it("bring back program and options exactly", async () => {
    for (const shared of [
      { program, options: { ...DEFAULTS } },
      { program: "", options: { ...DEFAULTS, backend: "aot_eager_default_partitioner", limit: 60 } as const },
      { program: "x = 1\r\n".repeat(20_000), options: { ...DEFAULTS } },
    ]) {
      expect(await decodeLink(await encodeLink(shared))).toEqual({ kind: "shared", shared, place: {}, notes: [] });
    }
  });

  it("bring back what was looked at", async () => {
    const shared = { program, options: { ...DEFAULTS } };
    const place = {
      panes: ["plot", "saved"],
      unit: "c1",
      stage: "backward",
      graphs: "picture",
      wrap: true,
      collapsed: { "layers.0": true },
      selection: { names: ["mm", "relu"], span: [3, 4, 3, 12] },
    };
    expect(await decodeLink(await encodeLink(shared, place))).toEqual({ kind: "shared", shared, place, notes: [] });
  });

  it("take only what is well formed of a place", async () => {
    const content = { p: program, v: { panes: [1], unit: 7, stage: "joint", wrap: "yes", collapsed: { a: 1 } }, s: ["mm"] };
    expect(await decodeLink(`#v2/${await pack(JSON.stringify(content))}`)).toMatchObject({ kind: "shared", place: { stage: "joint" } });
    const v1 = await decodeLink(`#v1/${await pack(JSON.stringify({ ...content, v: { stage: "joint" } }))}`);
    expect(v1).toMatchObject({ kind: "shared", place: {} });
  });

  it("bring back the files beside the program", async () => {
    const files = [
      { name: "helpers.py", text: 'def häß():\n    return "🔥"\n' },
      { name: "model/__init__.py", text: "" },
      { name: "model/layers.py", text: "from . import x\n".repeat(1000) },
    ];
    const shared = { program, options: { ...DEFAULTS, limit: 60 } as const, files };
    const place = { selection: { span: [3, 0, 3, 0], file: "helpers.py" } };
    const fragment = await encodeLink(shared, place);
    expect(fragment).toMatch(/^#v5\//);
    expect(await decodeLink(fragment)).toEqual({ kind: "shared", shared, place, notes: [] });
    // Pages from before there were any read those without.
    expect(await encodeLink({ ...shared, files: [] })).toMatch(/^#v2\//);
  });

  it.each([
    ["no list", { "a.py": "" }],
    ["a text that is none", [["a.py", 1]]],
    ["a name twice", [["a.py", ""], ["a.py", "x"]]],
    ["too many", Array.from({ length: 501 }, (_, i) => [`${i}.py`, ""])],
  ])("with files that are %s say so", async (_, f) => {
    expect(await decodeLink(`#v5/${await pack(JSON.stringify({ p: "x", f }))}`)).toMatchObject({ kind: "broken", reason: expect.stringMatching(/damaged/) });
  });

  it("with more than this page takes say so", async () => {
    const large = await encodeLink({ program, options: { ...DEFAULTS }, files: [{ name: "a.py", text: "#".repeat(5 * 1024 * 1024) }] });
    expect(await decodeLink(large)).toEqual({ kind: "broken", reason: "This link holds more than this page accepts." });
  });

  it("leave defaults out", async () => {
    const short = await encodeLink({ program, options: { ...DEFAULTS } });
    expect(short).toBe(`#v2/${await pack(JSON.stringify({ p: program }))}`);
  });

  it.each(KEPT)("keep opening: $name", async ({ fragment, program, options, place, files }) => {
    const link = await decodeLink(fragment);
    expect(link).toEqual({ kind: "shared", shared: { program, options: { ...DEFAULTS, ...options }, ...(files ? { files } : {}) }, place, notes: [] });
  });

  it.each(["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"])("with an option named %s open", async (name) => {
    const link = await decodeLink(`#v2/${await pack(`{"p": "x", "o": {"${name}": 1}, "v": {"panes": ["${name}"], "collapsed": {"${name}": true}}}`)}`);
    const note = name === "__proto__" ? expect.any(Array) : [`It sets an option this page does not have: “${name}”.`];
    expect(link).toMatchObject({ kind: "shared", shared: { program: "x", options: DEFAULTS }, notes: note });
  });

  it("with ten thousand unknown options say so in a sentence", async () => {
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`name ${i}`, i]));
    const link = await decodeLink(`#v2/${await pack(JSON.stringify({ p: "x", o: many }))}`);
    expect(link).toMatchObject({ notes: ["It sets options this page does not have: “name 0”, “name 1”, “name 2” and 9997 more."] });
  });

  it("are told from no link at all", async () => {
    expect(await decodeLink("")).toEqual({ kind: "none" });
    expect(await decodeLink("#")).toEqual({ kind: "none" });
  });

  it.each([
    ["foreign", "#section-2", /not made by this page/],
    ["newer", "#v7/abcd", /newer version.*v7.*up to v5/],
    ["never made", "#v0/abcd", /never was/],
    ["mangled", "#v1/ab%20cd", /damaged.*characters/],
    ["empty", "#v1/", /damaged/],
    ["cut off", "#v1/q1ZKzs8tyC9OTVFISSxJVLJSSssvUkhUyMwtyC8q", /damaged/],
  ])("that are broken say what is wrong: %s", async (_name, fragment, reason) => {
    const link = await decodeLink(fragment);
    expect(link.kind).toBe("broken");
    expect(link.kind === "broken" && link.reason).toMatch(reason);
  });

  it.each(["made now", "#v3/q1ZKzC-pUrIy1FHKS8xNVbJSStTLyU9X0lFKy8xJLVayiq5GlyhJrSgBcsOUamNrAQ"])("to a log give the log: %s", async (fragment) => {
    const log = '{"aotz":1,"name":"a.log","files":[{"name":"a.log","text":"V"}]}';
    const link = await decodeLink(fragment === "made now" ? await encodeLog(log) : fragment);
    if (link.kind !== "log") throw new Error(link.kind);
    expect(link.name).toBe("a.log");
    expect(await new Response(link.packed.stream().pipeThrough(new DecompressionStream("gzip"))).text()).toBe(log);
    for (const other of ["[]", "null", '{"aotz":1}', '{"p":"x"}']) expect((await decodeLink(`#v3/${await pack(other)}`)).kind).toBe("broken");
  });

  it.each(["made now", "#v4/q1bKSS0uzs9TslJSVghJLS7RUaoFAA"])("to a lesson give its text: %s", async (fragment) => {
    const text = "# Test,";
    expect(await decodeLink(fragment === "made now" ? await encodeLesson(text) : fragment)).toEqual({ kind: "lesson", text });
    for (const other of ["[]", "null", '{"lesson":1}', '{"p":"x"}']) expect((await decodeLink(`#v4/${await pack(other)}`)).kind).toBe("broken");
  });

  it("cut at any point never throw and never give another program", async () => {
    const whole = await encodeLink({ program, options: { ...DEFAULTS } });
    for (let length = 2; length < whole.length; length += 1) {
      const link = await decodeLink(whole.slice(0, length));
      expect(link.kind, whole.slice(0, length)).toBe("broken");
    }
  });

  it("without a program are damaged", async () => {
    for (const content of ["[]", "null", "1", '{"o":{}}', '{"p":1}', "not json"]) {
      expect((await decodeLink(`#v1/${await pack(content)}`)).kind).toBe("broken");
    }
  });

  // Packing eight megabytes takes seconds beside a build.
  it("do not unpack without end", { timeout: 60_000 }, async () => {
    const bomb = await pack(JSON.stringify({ p: "a".repeat(8 << 20) }));
    expect(await decodeLink(`#v1/${bomb}`)).toMatchObject({ kind: "broken", reason: expect.stringMatching(/more than/) as string });
  });

  it("with options that are not known say so, and open", async () => {
    const link = await decodeLink(`#v1/${await pack(JSON.stringify({ p: "", o: { backend: "tpu", colour: 1, limit: 30 } }))}`);
    expect(link).toMatchObject({ kind: "shared", shared: { options: { ...DEFAULTS, limit: 30 } } });
    expect(link.kind === "shared" && link.notes).toHaveLength(2);
  });
});
