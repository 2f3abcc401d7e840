import { beforeEach, describe, expect, it, vi } from "vitest";
import { DEFAULTS } from "../src/state/options";

const KEY = "aot-playground/script";

/** A tab of its own: what a module of the page remembers belongs to one. */
async function tab(): Promise<typeof import("../src/state/storage")> {
  vi.resetModules();
  return import("../src/state/storage");
}

beforeEach(() => localStorage.clear());

describe("what is kept", () => {
  it("is read again", async () => {
    const { saveScript, loadScript } = await tab();
    expect(saveScript({ program: "print(1)", options: { ...DEFAULTS, limit: 60 } })).toBe(true);
    expect(loadScript()).toEqual({ program: "print(1)", options: { ...DEFAULTS, limit: 60 } });
  });

  it("is put aside before another tab writes over it", async () => {
    const first = await tab();
    first.saveScript({ program: "first", options: DEFAULTS });
    const second = await tab();
    second.saveScript({ program: "second", options: DEFAULTS });
    expect(second.loadDrafts().map(({ program }) => program)).toEqual(["first"]);
    // Its own is not put aside, edit by edit.
    second.saveScript({ program: "second, longer", options: DEFAULTS });
    expect(second.loadDrafts().map(({ program }) => program)).toEqual(["first"]);
  });

  it("is not put aside by a tab that has seen it", async () => {
    const first = await tab();
    first.saveScript({ program: "first", options: DEFAULTS });
    const second = await tab();
    second.loadScript();
    second.saveScript({ program: "first, edited", options: DEFAULTS });
    expect(second.loadDrafts()).toEqual([]);
  });

  it.each([["not JSON"], ["[1]"], ['{"program": 1}'], ["null"]])("is nothing where another hand wrote %s, which stays", async (text) => {
    localStorage.setItem(KEY, text);
    const { loadScript, saveScript, loadDrafts, unread } = await tab();
    expect(loadScript()).toBeUndefined();
    expect(unread.value).toBe(text);
    expect(saveScript({ program: "mine", options: DEFAULTS })).toBe(true);
    expect(loadDrafts()).toEqual([]);
    expect(localStorage.getItem(`${KEY}/unread`)).toBe(text);
  });

  it("of a version that kept drafts otherwise stays beside the new ones", async () => {
    localStorage.setItem("aot-playground/drafts", '{"version": 2}');
    const { addDraft, loadDrafts, unread } = await tab();
    addDraft({ program: "mine", options: DEFAULTS });
    expect(loadDrafts().map(({ program }) => program)).toEqual(["mine"]);
    expect(unread.value).toBe('{"version": 2}');
    expect(localStorage.getItem("aot-playground/drafts/unread")).toBe('{"version": 2}');
  });

  it("says so where storage is full or forbidden, until it is not", async () => {
    const { saveScript, keepsNothing, addDraft } = await tab();
    const refuse = (): never => {
      throw new DOMException("full", "QuotaExceededError");
    };
    vi.stubGlobal("localStorage", { getItem: refuse, setItem: refuse });
    expect(saveScript({ program: "lost", options: DEFAULTS })).toBe(false);
    expect(keepsNothing.value).toBe(true);
    addDraft({ program: "lost", options: DEFAULTS });
    vi.unstubAllGlobals();
    expect(saveScript({ program: "kept", options: DEFAULTS })).toBe(true);
    expect(keepsNothing.value).toBe(false);
  });
});
