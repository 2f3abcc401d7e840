// The texts of a compilation's graphs, by the names of their stages: what is compared line by line.
import type { Compilation, LogCompilation } from "../generated/report";
import { STAGE_TITLES } from "./stages";

export type Texts = ReadonlyMap<string, string>;

export function textsIn(compilation: Compilation | LogCompilation, captured: string | undefined): Texts {
  const texts = new Map<string, string>();
  if (captured) texts.set(STAGE_TITLES.captured, captured);
  for (const stage of ["functionalized", "joint", "forward", "backward", "inference"] as const) {
    const text = compilation[stage]?.readable;
    if (text) texts.set(STAGE_TITLES[stage], text);
  }
  for (const { name, readable } of "stages" in compilation ? (compilation.stages ?? []) : []) if (!texts.has(name)) texts.set(name, readable);
  return texts;
}

/** Stages that both have, in order. */
export function stagesOfBoth(one: Texts, other: Texts): string[] {
  return [...one.keys()].filter((name) => other.has(name));
}

/** The stage to begin with: the first whose texts differ. */
export function firstOther(one: Texts, other: Texts): string | undefined {
  const both = stagesOfBoth(one, other);
  return both.find((name) => one.get(name) !== other.get(name)) ?? both[0];
}
