// Links that nobody made: whatever stands after the # is a script with a place, or a sentence; nothing throws, and nothing that a link says
// becomes more than data. `LINKS=number` tries so many, `SEED=number` begins at that seed (it is printed).
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { expect, it } from "vitest";
import { decodeLink } from "../src/state/link";
import { DEFAULTS } from "../src/state/options";
import { goTo } from "../src/state/place";
import { KEPT } from "./links";

const COUNT = Number(process.env.LINKS ?? 3000);
const FIRST = Number(process.env.SEED ?? (process.env.LINKS ? Date.now() : 1));

/** SplitMix32-like draws: the same seed gives the same links. */
function draw(seed) {
  let state = seed >>> 0 || 1;
  return (below) => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) % below;
  };
}

const WORDS = ["p", "o", "v", "s", "__proto__", "constructor", "toString", "span", "panes", "collapsed", "unit", "limit", "backend", "inductor", "script", "\u202e", "<img src=x>", "", "\0", "é".repeat(300)];
const NUMBERS = [0, -1, 1, 1e8, 2 ** 53, -0.5, 1e308, 3];

function value(below, depth) {
  switch (below(depth > 3 ? 5 : 7)) {
    case 0:
      return NUMBERS[below(NUMBERS.length)];
    case 1:
      return WORDS[below(WORDS.length)];
    case 2:
      return null;
    case 3:
      return below(2) === 0;
    case 4:
      return "print(1)\n";
    case 5:
      return Array.from({ length: below(5) }, () => value(below, depth + 1));
    default: {
      const object = {};
      // As text: `__proto__` is then a key like another.
      for (let at = below(5); at > 0; at -= 1) Object.defineProperty(object, WORDS[below(WORDS.length)] ?? "", { value: value(below, depth + 1), enumerable: true, configurable: true });
      return object;
    }
  }
}

/** The content of a kept link with some of its parts replaced. */
function changed(content, below) {
  if (below(6) === 0) return value(below, 0);
  if (Array.isArray(content)) return content.map((part) => changed(part, below));
  if (typeof content !== "object" || content === null) return content;
  return Object.fromEntries(Object.entries(content).map(([key, part]) => [below(8) === 0 ? (WORDS[below(WORDS.length)] ?? "") : key, changed(part, below)]));
}

function fragment(seed) {
  const below = draw(seed);
  const kept = KEPT[below(KEPT.length)]?.fragment ?? "";
  const body = kept.replace(/^#v\d+\//, "");
  switch (below(8)) {
    case 0: {
      // Characters of the link itself.
      const at = below(kept.length);
      return kept.slice(0, at) + String.fromCharCode(below(0x250)) + kept.slice(at + below(3));
    }
    case 1:
      return kept.slice(0, below(kept.length));
    case 2:
      return `#v${below(5)}/${body}`;
    case 3: {
      const bytes = inflateRawSync(Buffer.from(body, "base64url"));
      for (let times = below(4); times >= 0; times -= 1) bytes[below(bytes.length)] = below(256);
      return `#v2/${deflateRawSync(bytes).toString("base64url")}`;
    }
    default: {
      const content = JSON.parse(inflateRawSync(Buffer.from(body, "base64url")).toString());
      return `#v${1 + below(2)}/${deflateRawSync(JSON.stringify(changed(content, below)) ?? "").toString("base64url")}`;
    }
  }
}

it(`opens what nobody made, or says why not (SEED=${FIRST}, ${COUNT} links)`, { timeout: 3_600_000 }, async () => {
  const plain = Object.getOwnPropertyNames(Object.prototype).toString();
  const kinds = new Map();
  for (let seed = FIRST; seed < FIRST + COUNT; seed += 1) {
    const text = fragment(seed);
    try {
      const link = await decodeLink(text);
      kinds.set(link.kind, (kinds.get(link.kind) ?? 0) + 1);
      if (link.kind === "broken") expect(link.reason.length).toBeLessThan(200);
      if (link.kind !== "shared") continue;
      expect(typeof link.shared.program).toBe("string");
      expect(Object.keys(link.shared.options)).toEqual(Object.keys(DEFAULTS));
      for (const note of [...link.notes, ...goTo(link.place)]) {
        expect(note.length).toBeLessThan(400);
        expect(note).not.toMatch(/[\0-\x1f\u202a-\u202e\u2066-\u2069]/);
      }
    } catch (error) {
      throw new Error(`SEED=${seed}: ${text.slice(0, 300)}`, { cause: error });
    }
  }
  expect(Object.getOwnPropertyNames(Object.prototype).toString()).toBe(plain);
  expect([...kinds.keys()]).toEqual(expect.arrayContaining(["broken", "shared"]));
});
