// Events of a run that nobody made: in any order, with any texts and numbers, they fold into one report however they are cut, and what the
// page makes of that report throws nothing. `REPORTS=number` tries so many, `SEED=number` begins at that seed (it is printed).
import { expect, it } from "vitest";
import sample from "../src/generated/fold.sample.json";
import { emptyReport, fold } from "../src/report/fold";
import { labels } from "../src/report/labels";
import { aliveAt, byLine, compare } from "../src/report/partition";
import { plainText, quote } from "../src/report/quote";
import { units } from "../src/report/stages";
import { EMPTY, extend, linesOf } from "../src/report/timeline";

const COUNT = Number(process.env.REPORTS ?? 3000);
const FIRST = Number(process.env.SEED ?? (process.env.REPORTS ? Date.now() : 1));

/** SplitMix32-like draws: the same seed gives the same events. */
function draw(seed) {
  let state = seed >>> 0 || 1;
  return (below) => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) % below;
  };
}

const WORDS = ["", "__proto__", "constructor", "f", "x", "\u202e", "<img src=x>", "\0", "\n", "é".repeat(300), "aten.sin.default", "L['x']"];
const NUMBERS = [0, 1, 2, 7, 2 ** 32 - 1, 2 ** 53, 1e308, 0.5];

/** The same kind of value, with some of its texts, numbers and items others. */
function changed(value, below, key = "") {
  if (Array.isArray(value)) {
    const items = value.map((item) => changed(item, below));
    const at = below(items.length + 1);
    if (below(10) === 0) items.splice(at, 1);
    if (below(10) === 0 && items.length > 0) items.push(items[at % items.length]);
    return items;
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, changed(part, below, name)]));
  }
  // The names of kinds are the types' own.
  if (below(12) > 0 || ["event", "kind", "fate"].includes(key)) return value;
  if (typeof value === "string") return WORDS[below(WORDS.length)];
  if (typeof value === "number") return NUMBERS[below(NUMBERS.length)];
  return typeof value === "boolean" ? !value : value;
}

it(`makes one report of what nobody's run said (SEED=${FIRST}, ${COUNT} runs)`, { timeout: 3_600_000 }, () => {
  for (let seed = FIRST; seed < FIRST + COUNT; seed += 1) {
    const below = draw(seed);
    const events = Array.from({ length: below(12) }, () => changed(sample.events[below(sample.events.length)], below));
    try {
      const report = fold(emptyReport(), events);
      expect(events.reduce((known, event) => fold(known, [event]), emptyReport())).toEqual(report);
      const moments = extend(EMPTY, events.map((event, at) => ({ event, at })));
      expect(events.reduce((known, event, at) => extend(known, [{ event, at }]), EMPTY)).toEqual(moments);
      const found = units(report);
      expect(new Set(found.map(({ key }) => key)).size).toBe(found.length);
      for (const unit of found) {
        labels(unit);
        quote(plainText(unit.title));
        const { partition } = unit.compilation ?? {};
        if (partition) compare(partition, partition);
        if (partition?.memory) byLine(aliveAt(partition.memory, below(5)));
      }
      for (const { id } of report.regions) linesOf(report, id);
    } catch (error) {
      throw new Error(`SEED=${seed}: ${JSON.stringify(events).slice(0, 300)}`, { cause: error });
    }
  }
});
