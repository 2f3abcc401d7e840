// Draws a part of the picture: groups, wires, nodes; with less detail the smaller it is. Colours never stand alone: forward has
// its stripe on the left and backward on the right, what is saved, recomputed or written to has a letter.
import type { Grid, Rectangle } from "./grid";
import { BACKWARD, BRIDGE } from "./groups";
import { CROSSING, type Layout } from "./layout";
import type { Picture, PictureNode } from "./model";
import type { Theme } from "./theme";
import { formatBytes, plural } from "../report/format";

export interface Scene {
  picture: Picture;
  layout: Layout;
  grid: Grid;
  theme: Theme;
  /** Words of chips that stand for several saved values. */
  joined: ReadonlyMap<number, { label: string; detail: string }>;
}

/** Scales below which text, small marks and nodes are left out. */
const TEXT_FROM = 0.45;
const MARKS_FROM = 0.3;
const NODES_FROM = 0.06;
const WIRES_FROM = 0.03;

/** Width in pixels from which a group's label stands in its box. */
const LABEL_FROM = 40;
/** How far beside its box a label may reach, in pixels. */
const LABEL_REACH = 120;

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/** Chips that stand for what is saved of a closed group. */
export function joinedChips(picture: Picture, layout: Layout): Map<number, { label: string; detail: string }> {
  const members = new Map<number, number[]>();
  for (let node = 0; node < layout.nodes; node += 1) {
    if (picture.input.side[node] !== BRIDGE || layout.shown[node] === node) continue;
    const list = members.get(layout.shown[node]!);
    if (list) list.push(node);
    else members.set(layout.shown[node]!, [layout.shown[node]!, node]);
  }
  return new Map(
    [...members].map(([chip, nodes]) => {
      const bytes = nodes.reduce((sum, node) => sum + (picture.nodes[node]!.node.bytes ?? 0), 0);
      return [chip, { label: `${nodes.length} saved`, detail: formatBytes(bytes) }];
    }),
  );
}

/** Draws what is in `area`; the context's transform maps the picture's units, `scale` says how large one is. */
export function paint(ctx: Context, scene: Scene, area: Rectangle, scale: number): void {
  const { layout, grid } = scene;
  const items = grid.itemsIn(area);
  const reach = LABEL_REACH / scale;
  const labelled = scale < MARKS_FROM ? grid.itemsIn({ ...area, left: area.left - reach, right: area.right + reach }) : items;
  ctx.lineJoin = "round";
  for (const item of items) if (item >= layout.nodes && layout.groups[item - layout.nodes]!.open) paintOpenGroup(ctx, scene, item, scale);
  if (scale >= WIRES_FROM) paintWires(ctx, scene, grid.wiresIn(area), scale);
  if (scale >= NODES_FROM) {
    for (const item of items) if (item < layout.nodes) paintNode(ctx, scene, item, scale);
  }
  for (const item of items) if (item >= layout.nodes && !layout.groups[item - layout.nodes]!.open) paintClosedGroup(ctx, scene, item, scale);
  for (const item of labelled) if (item >= layout.nodes && layout.groups[item - layout.nodes]!.open) paintGroupLabel(ctx, scene, item, scale);
}

type Box = [number, number, number, number];
const boxOf = (layout: Layout, item: number): Box => [
  layout.boxes[4 * item]!,
  layout.boxes[4 * item + 1]!,
  layout.boxes[4 * item + 2]!,
  layout.boxes[4 * item + 3]!,
];

function paintOpenGroup(ctx: Context, { layout, theme }: Scene, item: number, scale: number): void {
  const [x, y, w, h] = boxOf(layout, item);
  const { side } = layout.groups[item - layout.nodes]!;
  const colour = side === BACKWARD ? theme.backward : theme.forward;
  ctx.beginPath();
  ctx.roundRect(x, y, w, h, 8);
  ctx.fillStyle = mix(theme.surface, colour, scale < NODES_FROM ? 0.22 : 0.045);
  ctx.fill();
  ctx.lineWidth = Math.max(1, 0.8 / scale);
  ctx.strokeStyle = mix(theme.surface, colour, 0.38);
  ctx.stroke();
}

/** The label stands over what is inside where that is too small to read. */
function paintGroupLabel(ctx: Context, scene: Scene, item: number, scale: number): void {
  const { layout, theme } = scene;
  const [x, y, w, h] = boxOf(layout, item);
  const { label, side } = layout.groups[item - layout.nodes]!;
  if (h * scale < 13) return;
  if (w * scale < LABEL_FROM) {
    paintLabelBeside(ctx, scene, item, scale);
    return;
  }
  const size = Math.min(Math.max(11, 10 / scale), h * 0.8);
  const colour = side === BACKWARD ? theme.backward : theme.forward;
  ctx.font = `600 ${size}px ${theme.sans}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  const room = w - size * 2.2;
  const text = fitText(label, room / (size * 0.56));
  if (text === "") return;
  if (size > 11) {
    ctx.fillStyle = mix(theme.surface, colour, 0.1);
    ctx.beginPath();
    ctx.roundRect(x + size * 0.3, y + size * 0.25, Math.min(w - size * 0.6, text.length * size * 0.6 + size * 1.5), size * 1.5, size * 0.4);
    ctx.fill();
  }
  ctx.fillStyle = theme.text;
  ctx.fillText(text, x + size * 1.6, y + size * 1.05);
  triangle(ctx, x + size * 0.95, y + size * 1.02, size * 0.34, true);
}

/** A label beside an outermost box that is too narrow for it: outside, away from the other side. */
function paintLabelBeside(ctx: Context, { layout, theme }: Scene, item: number, scale: number): void {
  const { label, side, parent } = layout.groups[item - layout.nodes]!;
  if (parent >= 0) return;
  const [x, y, w, h] = boxOf(layout, item);
  ctx.font = `600 ${11 / scale}px ${theme.sans}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = side === BACKWARD ? "left" : "right";
  ctx.fillStyle = theme.muted;
  ctx.fillText(fitText(label, 16), side === BACKWARD ? x + w + 6 / scale : x - 6 / scale, y + h / 2);
}

function triangle(ctx: Context, x: number, y: number, size: number, down: boolean): void {
  ctx.beginPath();
  if (down) {
    ctx.moveTo(x - size, y - size * 0.6);
    ctx.lineTo(x + size, y - size * 0.6);
    ctx.lineTo(x, y + size * 0.8);
  } else {
    ctx.moveTo(x - size * 0.6, y - size);
    ctx.lineTo(x - size * 0.6, y + size);
    ctx.lineTo(x + size * 0.8, y);
  }
  ctx.fill();
}

function paintClosedGroup(ctx: Context, { layout, theme }: Scene, item: number, scale: number): void {
  const [x, y, w, h] = boxOf(layout, item);
  const { label, side, size } = layout.groups[item - layout.nodes]!;
  const colour = side === BACKWARD ? theme.backward : theme.forward;
  const fill = mix(theme.surface, colour, 0.14);
  ctx.lineWidth = Math.max(1, 0.7 / scale);
  ctx.strokeStyle = mix(theme.surface, colour, 0.6);
  ctx.fillStyle = fill;
  if (scale >= MARKS_FROM) {
    for (const offset of [5, 2.5]) {
      ctx.beginPath();
      ctx.roundRect(x + offset, y + offset, w, h, 6);
      ctx.fill();
      ctx.stroke();
    }
  }
  ctx.beginPath();
  ctx.roundRect(x, y, w, h, 6);
  ctx.fill();
  ctx.stroke();
  if (scale < MARKS_FROM) {
    // One word, as large as the box allows.
    if (h * scale < 10 || w * scale < 24) return;
    const large = h * 0.5;
    ctx.font = `600 ${large}px ${theme.sans}`;
    ctx.fillStyle = theme.text;
    ctx.textBaseline = "middle";
    ctx.textAlign = "center";
    ctx.fillText(fitText(label, w / (large * 0.58)), x + w / 2, y + h / 2);
    return;
  }
  ctx.fillStyle = colour;
  triangle(ctx, x + 13, y + h / 2, 4.5, false);
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.fillStyle = theme.text;
  ctx.font = `600 12px ${theme.sans}`;
  ctx.fillText(fitText(label, (w - 30) / 6.4), x + 24, y + h / 2 - 7.5);
  ctx.fillStyle = theme.muted;
  ctx.font = `11px ${theme.sans}`;
  ctx.fillText(plural(size, "node"), x + 24, y + h / 2 + 8);
}

function paintWires(ctx: Context, { layout, theme }: Scene, wires: readonly number[], scale: number): void {
  ctx.globalAlpha = Math.min(1, Math.max(0.35, scale * 2.2));
  const styles: [string, number, number[]][] = [
    [theme.wire, 1.2, []],
    [theme.wire, 1.2, []],
    [theme.saved, 1.4, []],
    [theme.recomputed, 1.4, [5, 4]],
  ];
  const byKind: number[][] = [[], [], [], []];
  for (const wire of wires) byKind[layout.wires.kind[wire]!]!.push(wire);
  for (const kind of [BRIDGE, CROSSING, 0, 1]) {
    const [colour, width, dash] = styles[kind]!;
    ctx.strokeStyle = kind === BRIDGE || kind === CROSSING ? mix(theme.surface, colour, 0.55) : colour;
    ctx.fillStyle = ctx.strokeStyle;
    ctx.lineWidth = Math.max(width, 0.6 / scale);
    ctx.setLineDash(scale >= MARKS_FROM ? dash : []);
    // Many short paths are quicker than a long one.
    for (let at = 0; at < byKind[kind]!.length; at += 64) {
      ctx.beginPath();
      for (const wire of byKind[kind]!.slice(at, at + 64)) tracePath(ctx, layout, wire, scale);
      ctx.stroke();
    }
    ctx.setLineDash([]);
    if (scale >= TEXT_FROM) for (const wire of byKind[kind]!) arrow(ctx, layout, wire);
  }
  ctx.globalAlpha = 1;
}

/** Adds a wire to the path: curves that leave and arrive in the direction of its flow. */
export function tracePath(ctx: Context, layout: Layout, wire: number, scale: number, from = 0, to = Infinity): void {
  const { points, start, kind } = layout.wires;
  const sideways = kind[wire]! >= BRIDGE;
  const first = start[wire]! + 2 * from;
  const end = Math.min(start[wire + 1]!, start[wire]! + 2 * to);
  ctx.moveTo(points[first]!, points[first + 1]!);
  for (let i = first + 2; i < end; i += 2) {
    const [x0, y0, x1, y1] = [points[i - 2]!, points[i - 1]!, points[i]!, points[i + 1]!];
    if (Math.abs(x1 - x0) < 0.5 || Math.abs(y1 - y0) < 0.5 || scale < 0.12) ctx.lineTo(x1, y1);
    else if (sideways) {
      const bend = Math.max(24, Math.abs(x1 - x0) / 2);
      ctx.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    } else {
      const middle = (y0 + y1) / 2;
      ctx.bezierCurveTo(x0, middle, x1, middle, x1, y1);
    }
  }
}

function arrow(ctx: Context, layout: Layout, wire: number): void {
  const { points, start, kind, target } = layout.wires;
  if (target[wire]! < 0) return;
  const last = start[wire + 1]! - 2;
  const [x, y, fromY] = [points[last]!, points[last + 1]!, points[last - 1]!];
  const open = target[wire]! >= layout.nodes && layout.groups[target[wire]! - layout.nodes]!.open;
  if (open) return;
  ctx.beginPath();
  if (kind[wire]! >= BRIDGE) {
    ctx.moveTo(x, y);
    ctx.lineTo(x - 7, y - 3.5);
    ctx.lineTo(x - 7, y + 3.5);
  } else {
    const back = fromY < y ? -7 : 7;
    ctx.moveTo(x, y);
    ctx.lineTo(x - 3.5, y + back);
    ctx.lineTo(x + 3.5, y + back);
  }
  ctx.fill();
}

function paintNode(ctx: Context, scene: Scene, item: number, scale: number): void {
  const { layout, picture, theme, joined } = scene;
  const node = picture.nodes[item]!;
  const [x, y, w, h] = boxOf(layout, item);
  const colour = colourOf(node, theme);
  ctx.fillStyle = mix(theme.surface, colour, node.shape === "input" || node.shape === "output" ? 0.03 : 0.12);
  if (scale < MARKS_FROM) {
    ctx.fillStyle = mix(theme.surface, colour, 0.45);
    ctx.fillRect(x, y, w, h);
    return;
  }
  outline(ctx, node, x, y, w, h);
  ctx.fill();
  ctx.lineWidth = node.saved || node.recomputed || node.mutates ? 1.6 : 1;
  ctx.strokeStyle = node.shape === "input" || node.shape === "output" ? theme.border : mix(theme.surface, colour, 0.75);
  ctx.setLineDash(node.recomputed ? [4, 3] : []);
  ctx.stroke();
  ctx.setLineDash([]);
  if (node.shape === "call") {
    // The stripe: on the left for the forward, on the right for the backward.
    ctx.fillStyle = node.backward ? theme.backward : theme.forward;
    ctx.beginPath();
    if (node.backward) ctx.roundRect(x + w - 4, y, 4, h, [0, 5, 5, 0]);
    else ctx.roundRect(x, y, 4, h, [5, 0, 0, 5]);
    ctx.fill();
  }
  if (scale < TEXT_FROM) return;
  const { label, detail } = joined.get(item) ?? node;
  const badges = node.shape === "chip" ? [] : badgesOf(node, theme);
  const middle = x + (w - 17 * badges.length) / 2;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillStyle = theme.text;
  ctx.font = `${node.shape === "output" ? "italic " : ""}${node.shape === "call" ? "600" : "400"} 11px ${theme.mono}`;
  ctx.fillText(label, middle, y + (detail ? h / 2 - 7 : h / 2 + 0.5), w - 12 - 17 * badges.length);
  if (detail) {
    ctx.fillStyle = theme.muted;
    ctx.font = `10px ${theme.mono}`;
    ctx.fillText(detail, middle, y + h / 2 + 8, w - 12 - 17 * badges.length);
  }
  badges.forEach(([letter, ground], index) => {
    const left = x + w - 21 - 17 * (badges.length - 1 - index) - (node.backward ? 3 : 0);
    ctx.fillStyle = ground;
    ctx.beginPath();
    ctx.roundRect(left, y + h / 2 - 7, 14, 14, 3.5);
    ctx.fill();
    ctx.fillStyle = theme.surface;
    ctx.font = `700 10px ${theme.sans}`;
    ctx.fillText(letter, left + 7, y + h / 2 + 0.5);
  });
}

function outline(ctx: Context, node: PictureNode, x: number, y: number, w: number, h: number): void {
  ctx.beginPath();
  if (node.shape === "output") {
    const cut = 8;
    ctx.moveTo(x + cut, y);
    ctx.lineTo(x + w - cut, y);
    ctx.lineTo(x + w, y + h / 2);
    ctx.lineTo(x + w - cut, y + h);
    ctx.lineTo(x + cut, y + h);
    ctx.lineTo(x, y + h / 2);
    ctx.closePath();
  } else {
    ctx.roundRect(x, y, w, h, node.shape === "call" ? 5 : h / 2);
  }
}

function colourOf(node: PictureNode, theme: Theme): string {
  if (node.shape === "input" || node.shape === "output") return theme.text;
  if (node.mutates) return theme.mutated;
  if (node.saved) return theme.saved;
  if (node.recomputed) return theme.recomputed;
  return node.backward ? theme.backward : theme.forward;
}

function badgesOf(node: PictureNode, theme: Theme): [string, string][] {
  const badges: [string, string][] = [];
  if (node.saved) badges.push(["S", theme.saved]);
  if (node.recomputed) badges.push(["R", theme.recomputed]);
  if (node.mutates) badges.push(["M", theme.mutated]);
  return badges;
}

function fitText(text: string, letters: number): string {
  if (text.length <= letters) return text;
  return letters < 3 ? "" : `${text.slice(0, Math.floor(letters) - 1)}…`;
}

const mixed = new Map<string, string>();

/** `share` of `colour` on `ground`, both `#rrggbb`; what is written otherwise stays as it is. */
export function mix(ground: string, colour: string, share: number): string {
  const key = `${ground}${colour}${share}`;
  const known = mixed.get(key);
  if (known) return known;
  const [a, b] = [channels(ground), channels(colour)];
  const made = a && b ? `rgb(${a.map((value, i) => Math.round(value * (1 - share) + b[i]! * share)).join(" ")})` : colour;
  mixed.set(key, made);
  return made;
}

function channels(colour: string): number[] | undefined {
  const long = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour);
  if (long) return long.slice(1).map((text) => Number.parseInt(text, 16));
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/i.exec(colour);
  return short ? short.slice(1).map((text) => 17 * Number.parseInt(text, 16)) : undefined;
}
