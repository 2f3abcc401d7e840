import { beforeEach, expect, it, vi } from "vitest";
import { decodeLink, encodeLink } from "../src/state/link";
import { DEFAULTS } from "../src/state/options";

let looks: typeof import("../src/state/looked");

beforeEach(async () => {
  vi.resetModules();
  looks = await import("../src/state/looked");
});

it("keeps what is not as it is at first, and brings it back", () => {
  const series = looks.looked<string>("series", "run", looks.oneOf(["run", "eager"]));
  const step = looks.looked<number | undefined>("step", undefined, looks.number(0, 100));
  expect(looks.keptLooks()).toEqual({});
  series.value = "eager";
  step.value = 7;
  const kept = looks.keptLooks();
  expect(kept).toEqual({ series: "eager", step: 7 });
  looks.bringLooks({});
  expect([series.value, step.value]).toEqual(["run", undefined]);
  looks.bringLooks(kept);
  expect([series.value, step.value]).toEqual(["eager", 7]);
});

it("keeps for a view that is not there yet what a link says of it, and takes no nonsense", () => {
  looks.bringLooks({ late: "b", wrong: 12, gone: [1] });
  expect(looks.keptLooks()).toEqual({ late: "b", wrong: 12, gone: [1] });
  expect(looks.looked<string>("late", "a", looks.oneOf(["a", "b"])).value).toBe("b");
  expect(looks.looked<string>("wrong", "a", looks.oneOf(["a", "b"])).value).toBe("a");
  expect(looks.words({ a: "8, 4", b: 3, c: "x".repeat(501) })).toEqual({ a: "8, 4" });
  for (const raw of [null, [], "x", 3]) expect(looks.words(raw)).toBeUndefined();
});

it("travels in a link, and what is no record of a link is left out", async () => {
  const shared = { program: "x", options: { ...DEFAULTS } };
  const place = { look: { partition: { partitioner: "default_partition" }, tried: { "0 L['x']": "8, 4" } } };
  expect(await decodeLink(await encodeLink(shared, place))).toMatchObject({ place });
  expect(await decodeLink(await encodeLink(shared, { look: [1] as unknown as Record<string, unknown> }))).toMatchObject({ place: {} });
});
