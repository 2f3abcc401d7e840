// Copies a graph as it is looked at: its text, its table as PyTorch prints it, or its picture.
import type { Stage, Unit } from "../report/stages";
import type { GraphViewKind } from "../state/view";
import { copy, copyPicture } from "./deliver";
import { make } from "./make";

/** Says whether it could; `delivered` has the sentence. */
export async function copyGraph(unit: Unit, stage: Stage, as: GraphViewKind): Promise<boolean> {
  const graph = unit.stages[stage];
  if (!graph) return false;
  switch (as) {
    case "text":
      return copy(graph.readable, "The graph");
    case "table":
      return copy(make({ type: "graph", graph, format: "table", about: "", bundle: null }), "The table");
    case "picture": {
      const drawn = import("./drawing").then(async ({ drawSvg, toPng }) => toPng(await drawSvg(unit, stage)));
      return copyPicture(drawn, "The picture");
    }
  }
}
