// An item of the picture in words: for the card below the picture, and for those who hear it.
import { formatBytes, plural } from "../report/format";
import { placeInWords } from "../report/place";
import type { Layout } from "./layout";
import type { Picture, PictureNode } from "./model";
import { typeOf } from "./model";
import type { Neighbours } from "./navigate";

export interface Description {
  title: string;
  /** What is called, in which module, of which type, from which line, and what becomes of it. */
  facts: string[];
  inputs: Linked[];
  readers: Linked[];
}

export interface Linked {
  item: number;
  name: string;
}

export function nameOf(picture: Picture, layout: Layout, item: number): string {
  return item < layout.nodes ? picture.nodes[item]!.label : layout.groups[item - layout.nodes]!.path;
}

export function describe(picture: Picture, layout: Layout, neighbours: Neighbours, item: number): Description {
  const name = (other: number): Linked => ({ item: other, name: nameOf(picture, layout, other) });
  const around = { inputs: neighbours.inputs(item).map(name), readers: neighbours.readers(item).map(name) };
  if (item >= layout.nodes) {
    const { path, size, open, side } = layout.groups[item - layout.nodes]!;
    const facts = [`module, ${open ? "open" : "closed"}`, plural(size, "node")];
    if (picture.twoSided) facts.push(side === 0 ? "forward" : "backward");
    return { title: path, facts, ...around };
  }
  const node = picture.nodes[item]!;
  return { title: node.label, facts: factsOf(node, picture.twoSided), ...around };
}

function factsOf(picture: PictureNode, twoSided: boolean): string[] {
  const { node, shape, backward, saved, recomputed, mutates } = picture;
  const facts: string[] = [];
  if (shape === "output") return [backward ? "returned by the backward" : "returned"];
  if (shape === "chip") facts.push("saved for the backward");
  else if (shape === "input") facts.push(node.op === "get_attr" ? "attribute" : "input");
  else facts.push(node.target);
  const type = typeOf(node);
  if (type) facts.push(type);
  if (node.bytes !== null) facts.push(formatBytes(node.bytes));
  if (twoSided && shape === "call") facts.push(recomputed && backward ? "forward, recomputed in the backward" : backward ? "backward" : "forward");
  if (saved && shape !== "chip") facts.push("saved for the backward");
  if (recomputed && !backward) facts.push("recomputed in the backward");
  if (mutates) facts.push("writes in place");
  if (node.span) facts.push(placeInWords(node.span));
  if (node.module_path) facts.push(`in ${node.module_path}`);
  return facts;
}

/** One sentence, for a screen reader. */
export function spoken({ title, facts, inputs, readers }: Description): string {
  const list = (linked: readonly Linked[]): string =>
    linked.length > 4 ? `${plural(linked.length, "value")}` : linked.map(({ name }) => name).join(", ");
  const reads = inputs.length > 0 ? ` Reads ${list(inputs)}.` : "";
  const readBy = readers.length > 0 ? ` Read by ${list(readers)}.` : "";
  return `${title}: ${facts.join(", ")}.${reads}${readBy}`;
}
