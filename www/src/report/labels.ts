// What a script calls the inputs of graphs.
import type { Unit } from "./stages";

/** Names of a unit's inputs as the script has them, by the names they have in its graphs. */
export function labels(unit: Unit | undefined): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const graph of Object.values(unit?.stages ?? {})) {
    for (const { name, source } of graph.nodes) if (source !== undefined && source !== null) found.set(name, source);
  }
  return found;
}
