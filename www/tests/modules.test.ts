import { beforeEach, describe, expect, it, vi } from "vitest";

let m: typeof import("../src/state/modules");

beforeEach(async () => {
  vi.resetModules();
  m = await import("../src/state/modules");
});

const names = (): string[] => m.modules.value.map(({ name }) => name);

describe("files beside the script", () => {
  it("are added, replaced, renamed, closed and brought back", () => {
    m.addModules([{ name: "a.py", text: "1" }, { name: "b.py", text: "2" }]);
    m.addModules([{ name: "a.py", text: "3" }]);
    expect(m.scriptFiles()).toEqual([{ name: "a.py", text: "3" }, { name: "b.py", text: "2" }]);
    const [a, b] = m.modules.value as [import("../src/state/modules").Module, import("../src/state/modules").Module];
    expect(m.renameModule(b.id, "model/b.py")).toBeUndefined();
    m.openId.value = a.id;
    const restore = m.closeModule(a.id);
    expect([names(), m.openId.value]).toEqual([["model/b.py"], b.id]);
    restore?.();
    expect(m.scriptFiles()).toEqual([{ name: "a.py", text: "3" }, { name: "model/b.py", text: "2" }]);
    expect(m.openId.value).toBe(a.id);
  });

  it("that are new have names of their own", () => {
    m.newModule();
    m.newModule();
    expect(names()).toEqual(["module.py", "module2.py"]);
  });

  it.each(["script.py", "notes.txt", "a b.py", "../a.py", "/a.py", "a//b.py", "taken.py", ".py", 'a".py'])("are not called %s", (name) => {
    m.addModules([{ name: "taken.py", text: "" }, { name: "other.py", text: "" }]);
    expect(m.renameModule(m.modules.value[1]!.id, name)).toBeTypeOf("string");
    expect(names()).toEqual(["taken.py", "other.py"]);
  });

  it("hold so much together", () => {
    expect(m.refusal([{ name: "a.py", text: "x" }])).toBeUndefined();
    expect(m.refusal([{ name: "a.py", text: "x".repeat(m.MOST_CHARACTERS + 1) }])).toMatch(/million/);
    expect(m.refusal(Array.from({ length: 501 }, (_, i) => ({ name: `${i}.py`, text: "" })))).toMatch(/500/);
  });

  it("come to the front by their names", () => {
    m.addModules([{ name: "a.py", text: "" }]);
    expect([m.showFile("a.py"), m.openId.value]).toEqual([true, m.modules.value[0]!.id]);
    expect([m.showFile("b.py"), m.openId.value]).toEqual([false, m.modules.value[0]!.id]);
    expect([m.showFile(undefined), m.openId.value]).toEqual([true, undefined]);
  });

  it("keep their editors apart", () => {
    m.addModules([{ name: "a.py", text: "1" }, { name: "b.py", text: "2" }]);
    const [a, b] = m.modules.value;
    m.editorOf(a!).dispatch({ changes: { from: 0, insert: "x" } });
    expect(m.scriptFiles().map(({ text }) => text)).toEqual(["x1", "2"]);
    expect(m.editorOf(b!).state.doc.toString()).toBe("2");
  });
});
