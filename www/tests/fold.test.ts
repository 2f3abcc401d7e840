// @vitest-environment node
import { expect, it } from "vitest";
import sample from "../src/generated/fold.sample.json";
import type { Event, Report } from "../src/generated/report";
import { emptyReport, fold } from "../src/report/fold";
import { tapeOf, units } from "../src/report/stages";

const events = sample.events as unknown as Event[];

it("folds events as the Rust side does", () => {
  expect(fold(emptyReport(), events)).toEqual(sample.report);
});

it("folds the same however the events are cut", () => {
  let report: Report = emptyReport();
  for (const event of events) {
    const before = structuredClone(report);
    const next = fold(report, [event]);
    expect(report).toEqual(before);
    report = next;
  }
  expect(report).toEqual(sample.report);
});

it("makes one unit of a region and its compilation", () => {
  const found = units(sample.report as unknown as Report);
  expect(found.map(({ key, title, stages }) => [key, title, Object.keys(stages)])).toEqual([
    ["c0", "f", ["captured", "joint", "forward", "backward"]],
    ["c1", "graph 1", []],
    // A compiler of the script's was given it.
    ["t0", "CompiledAutograd0", ["tape"]],
  ]);
});

it("puts a tape before the graphs that were captured for its backward", () => {
  const { report } = sample as unknown as { report: Report };
  const [region, ...others] = report.regions;
  const found = units({ ...report, regions: region ? [{ ...region, tape: 0 }, ...others] : [] });
  expect(found.map(({ key, stages }) => [key, Object.keys(stages)])).toEqual([
    ["c0", ["tape", "captured", "joint", "forward", "backward"]],
    ["c1", []],
  ]);
  expect(found[0]?.stages.tape?.readable).toBe("tape");
  // What a forward of its own saves comes first; a tape alone shows what it reads.
  expect([tapeOf(found[0]), tapeOf(units(report).at(-1))?.name]).toEqual([undefined, "CompiledAutograd0"]);
});
