// What the picture shows and what is chosen in it: keeps layout, camera and choice together as stage, run and groups change.
import { computed, effect, signal, untracked } from "@preact/signals";
import type { NodeView } from "../generated/report";
import { belongs, likeness, type Trace } from "../report/correspond";
import { type Stage, STAGES, type Unit } from "../report/stages";
import { select, selection } from "../state/selection";
import { selectedStage, selectedUnit } from "../state/unit";
import { collapsed } from "../state/view";
import { Arranger } from "./arranger";
import { type Bounds, PictureCanvas, type Start } from "./canvas";
import { describe, type Description, nameOf, spoken } from "./describe";
import type { Grid } from "./grid";
import { BACKWARD, FORWARD } from "./groups";
import type { Layout } from "./layout";
import { drawPicture, type Picture } from "./model";
import { type Direction, firstItem, neighbour, Neighbours } from "./navigate";
import { inSteps } from "./steps";
import { WireIndex } from "./wires";

export interface Shown {
  picture: Picture;
  layout: Layout;
  grid: Grid;
  neighbours: Neighbours;
  wires: WireIndex;
  milliseconds: number;
  /** Items that can be seen. */
  items: number;
}

type Closed = Readonly<Record<string, boolean>>;

interface Drawing {
  unit: Unit;
  stage: Stage;
  closed: Closed;
  end(): void;
}

/** Names that a chosen group puts into the choice at most. */
const MOST_NAMES = 2000;

export class PictureModel {
  readonly shown = signal<Shown | undefined>(undefined);
  readonly failure = signal<string | undefined>(undefined);
  /** An item of `shown`. */
  readonly focus = signal<number | undefined>(undefined);
  readonly query = signal("");
  /** Nodes that the search finds, in order, and which of them was gone to. */
  readonly matches = computed(() => this.find(this.shown.value?.picture, this.query.value));
  readonly match = signal(-1);
  readonly description = computed<Description | undefined>(() => {
    const [shown, focus] = [this.shown.value, this.focus.value];
    return shown && focus !== undefined ? describe(shown.picture, shown.layout, shown.neighbours, focus) : undefined;
  });
  readonly spokenFocus = computed(() => (this.description.value ? spoken(this.description.value) : ""));
  readonly focusName = computed(() => {
    const [shown, focus] = [this.shown.value, this.focus.value];
    return shown && focus !== undefined ? nameOf(shown.picture, shown.layout, focus) : undefined;
  });
  canvas: PictureCanvas | undefined;
  private host: HTMLElement | undefined;
  searchField: HTMLInputElement | null = null;
  private readonly arranger = new Arranger((message) => (this.failure.value = message));
  private readonly stops: (() => void)[] = [];
  /** What is looked for again in the next layout. */
  private anchor: { node?: number; group?: string } | undefined;
  private built: { unit: Unit; stage: Stage; picture: Picture } | undefined;
  /** The picture that is being drawn, where that takes a while. */
  private drawing: Drawing | undefined;
  private side = FORWARD;

  attach(host: HTMLElement): void {
    this.host = host;
    this.canvas = new PictureCanvas(host, { onPress: (item) => this.press(item), onToggle: (item) => this.toggle(item) });
    this.stops.push(
      effect(() => this.arrange()),
      effect(() => this.followSelection()),
      effect(() => this.mark()),
    );
  }

  close(): void {
    this.drawing?.end();
    for (const stop of this.stops) stop();
    this.arranger.close();
    this.canvas?.close();
  }

  /** Lays out what is selected; runs again when stage, run or groups change. */
  private arrange(): void {
    const [unit, stage, closed] = [selectedUnit.value, selectedStage.value, collapsed.value];
    if (!unit || !stage) return;
    const { built } = this;
    // Forward and backward are two ends of one picture.
    const sameGraphs = built !== undefined && equal(built.unit, unit) && (built.stage === stage || (isHalf(built.stage) && isHalf(stage)));
    const { drawing } = this;
    if (drawing && drawing.stage === stage && equal(drawing.unit, unit)) {
      Object.assign(drawing, { unit, closed });
      return;
    }
    drawing?.end();
    this.drawing = undefined;
    if (sameGraphs) {
      this.layOut(unit, stage, built.picture, closed);
      return;
    }
    this.setBusy(true);
    const next: Drawing = { unit, stage, closed, end: () => {} };
    this.drawing = next;
    next.end = inSteps(drawPicture(unit, stage), (picture) => {
      this.drawing = undefined;
      if (picture) this.layOut(next.unit, stage, picture, next.closed);
      else this.setBusy(false);
    });
  }

  private setBusy(busy: boolean): void {
    this.host?.setAttribute("aria-busy", String(busy));
  }

  /** Lays a picture out, unless it is as it was. */
  private layOut(unit: Unit, stage: Stage, picture: Picture, closed: Closed): void {
    const side = stage === "backward" ? BACKWARD : FORWARD;
    const isShown = untracked(() => this.shown.value)?.picture === picture;
    if (isShown && side !== this.side) {
      this.side = side;
      untracked(() => this.turnTo(side));
    }
    this.side = side;
    this.built = { unit, stage, picture };
    if (isShown && this.lastClosed === closed) {
      this.setBusy(false);
      return;
    }
    this.lastClosed = closed;
    this.setBusy(true);
    this.arranger.arrange({ ...picture.input, closed }, ({ layout, milliseconds }) => this.take(picture, layout, milliseconds));
  }
  private lastClosed: unknown;

  private take(picture: Picture, layout: Layout, milliseconds: number): void {
    const { canvas } = this;
    if (!canvas) return;
    if (!this.drawing) this.setBusy(false);
    const before = this.shown.value;
    const old = this.focus.value;
    const place = before && old !== undefined && canvas.sees(old) ? canvas.topOf(old) : undefined;
    const focus = this.findAgain(before, old, picture, layout);
    const hold = place && focus !== undefined ? { item: focus, x: place[0], y: place[1] } : undefined;
    const grid = canvas.show(picture, layout, startOf(picture, layout, this.side), hold);
    const shown: Shown = { picture, layout, grid, neighbours: new Neighbours(layout), wires: new WireIndex(layout), milliseconds, items: countItems(layout) };
    this.anchor = undefined;
    this.failure.value = undefined;
    this.focus.value = focus;
    this.shown.value = shown;
    if (focus !== undefined && !hold) canvas.reveal(focus);
  }

  /** The item that was in focus, in another layout or another stage. */
  private findAgain(before: Shown | undefined, old: number | undefined, picture: Picture, layout: Layout): number | undefined {
    const { anchor } = this;
    if (anchor?.node !== undefined && before?.picture === picture) return layout.shown[anchor.node];
    if (anchor?.group !== undefined) return findGroup(layout, anchor.group);
    if (!before || old === undefined) return this.chosenItem(picture, layout);
    if (old >= before.layout.nodes) {
      const key = groupKey(before.layout, old);
      return findGroup(layout, key) ?? findGroup(layout, key.replace(/^1/, "0"));
    }
    if (before.picture === picture) return layout.shown[old];
    const { node } = before.picture.nodes[old]!;
    const found = bestNode(picture, { names: [node.name], span: node.span ?? undefined, seq_nr: node.seq_nr, is_backward: node.is_backward });
    return found === undefined ? undefined : layout.shown[found];
  }

  private chosenItem(picture: Picture, layout: Layout): number | undefined {
    const chosen = untracked(() => selection.value);
    const node = chosen && bestNode(picture, chosen);
    return node === undefined ? undefined : layout.shown[node];
  }

  /** A choice made in another view moves the focus; no choice ends it. */
  private followSelection(): void {
    const chosen = selection.value;
    const shown = untracked(() => this.shown.value);
    if (!chosen) this.focus.value = undefined;
    if (!chosen || !shown || chosen.from === "picture") return;
    const item = this.chosenItem(shown.picture, shown.layout);
    this.focus.value = item;
    if (item !== undefined && this.canvas) this.canvas.reveal(item);
  }

  private mark(): void {
    const [shown, focus, chosen, matches] = [this.shown.value, this.focus.value, selection.value, this.matches.value];
    if (!shown || !this.canvas) return;
    const { picture, layout, wires, neighbours } = shown;
    const linked = new Set<number>();
    if (chosen) {
      picture.nodes.forEach(({ node, shape }, at) => {
        if (shape !== "output" && belongs(node, chosen)) linked.add(layout.shown[at]!);
      });
    }
    const lit = focus === undefined || isOpenGroup(layout, focus) ? [] : wires.of(focus, neighbours);
    this.canvas.setMarks({ focus, wires: lit, linked, matches: new Set(matches.map((node) => layout.shown[node]!)) });
  }

  private press(item: number | undefined): void {
    if (item === undefined) return;
    this.focusOn(item);
  }

  /** Puts the focus on an item and chooses what it stands for. */
  focusOn(item: number): void {
    const shown = this.shown.value;
    if (!shown) return;
    this.focus.value = item;
    const { picture, layout } = shown;
    if (item < layout.nodes) {
      const { node } = picture.nodes[item]!;
      select({ from: "picture", span: node.span ?? undefined, names: [node.name] });
    } else {
      const { path } = layout.groups[item - layout.nodes]!;
      const names = picture.nodes.filter(({ node }) => inModule(node, path)).slice(0, MOST_NAMES).map(({ node }) => node.name);
      select({ from: "picture", span: undefined, names: [...new Set(names)] });
    }
  }

  go(direction: Direction): void {
    const shown = this.shown.value;
    if (!shown) return;
    const { picture, layout, grid, neighbours } = shown;
    const at = this.focus.value;
    const next = at === undefined ? firstItem(layout, (item) => sideOf(picture, layout, item) === this.side) : neighbour(layout, grid, neighbours, at, direction);
    if (next === undefined) return;
    this.goTo(next);
  }

  goTo(item: number): void {
    this.focusOn(item);
    this.canvas?.reveal(item);
  }

  /** To the group around the focus. */
  goToGroup(): void {
    const [shown, focus] = [this.shown.value, this.focus.value];
    const parent = shown && focus !== undefined ? shown.layout.parent[focus]! : -1;
    if (parent >= 0) this.goTo(parent);
  }

  toggleFocus(): void {
    const focus = this.focus.value;
    if (focus !== undefined) this.toggle(focus);
  }

  /** Opens or closes a group. */
  toggle(item: number): void {
    const shown = this.shown.value;
    if (!shown || item < shown.layout.nodes) return;
    const { path, open } = shown.layout.groups[item - shown.layout.nodes]!;
    this.focusOn(item);
    this.anchor = { group: groupKey(shown.layout, item) };
    collapsed.value = { ...collapsed.value, [path]: open };
  }

  /** Opens or closes all groups. */
  setAll(closed: boolean): void {
    collapsed.value = { "*": closed };
  }

  search(): void {
    this.searchField?.focus();
    this.searchField?.select();
  }

  nextMatch(by: number): void {
    const found = this.matches.value;
    if (found.length === 0) return;
    const at = this.match.value < 0 ? (by > 0 ? 0 : found.length - 1) : (this.match.value + by + found.length) % found.length;
    this.match.value = at;
    this.reach(found[at]!);
  }

  /** Goes to a node, and opens the groups it is in. */
  private reach(node: number): void {
    const shown = this.shown.value;
    if (!shown) return;
    const { picture, layout } = shown;
    if (layout.shown[node] === node || picture.nodes[node]!.shape === "chip") {
      this.goTo(layout.shown[node]!);
      return;
    }
    const { node: found } = picture.nodes[node]!;
    select({ from: "picture", span: found.span ?? undefined, names: [found.name] });
    this.anchor = { node };
    const opened: Record<string, boolean> = { ...collapsed.value };
    const path = picture.input.paths[picture.input.path[node]!]!.split(".");
    path.forEach((_, at) => (opened[path.slice(0, at + 1).join(".")] = false));
    collapsed.value = opened;
  }

  private turnTo(side: number): void {
    const shown = this.shown.value;
    if (shown && this.focus.value === undefined) this.canvas?.look(startOf(shown.picture, shown.layout, side));
  }

  private find(picture: Picture | undefined, query: string): number[] {
    const wanted = query.trim().toLowerCase();
    if (!picture || wanted === "") return [];
    const found: number[] = [];
    picture.nodes.forEach(({ label, node }, at) => {
      const texts = [label, node.name, node.target, node.module_path];
      if (texts.some((text) => text.toLowerCase().includes(wanted))) found.push(at);
    });
    return found;
  }
}

/** Whether two units show the same: a run that goes on makes new ones all the time. */
function equal(a: Unit, b: Unit): boolean {
  if (a === b) return true;
  const same = STAGES.every((stage) => a.stages[stage]?.readable === b.stages[stage]?.readable);
  return same && a.key === b.key && a.compilation?.saved?.length === b.compilation?.saved?.length;
}

const isHalf = (stage: Stage): boolean => stage === "forward" || stage === "backward";

const isOpenGroup = (layout: Layout, item: number): boolean => item >= layout.nodes && layout.groups[item - layout.nodes]!.open;

const inModule = (node: NodeView, path: string): boolean => node.module_path === path || node.module_path.startsWith(`${path}.`);

function bestNode(picture: Picture, trace: Trace): number | undefined {
  let best: number | undefined;
  let most = 0;
  picture.nodes.forEach(({ node, shape }, at) => {
    if (shape === "output") return;
    const score = likeness(node, trace) + (shape === "chip" ? 0 : 0.5);
    if (score > most && score >= 1) [best, most] = [at, score];
  });
  return best;
}

/** Which side, which path, and which of several. */
function groupKey(layout: Layout, item: number): string {
  const wanted = layout.groups[item - layout.nodes]!;
  const nth = layout.groups.slice(0, item - layout.nodes).filter(({ path, side }) => path === wanted.path && side === wanted.side).length;
  return `${wanted.side} ${nth} ${wanted.path}`;
}

function findGroup(layout: Layout, key: string): number | undefined {
  const at = layout.groups.findIndex((_, index) => groupKey(layout, layout.nodes + index) === key);
  return at < 0 ? undefined : layout.nodes + at;
}

const sideOf = (picture: Picture, layout: Layout, item: number): number =>
  item < layout.nodes ? picture.input.side[item]! : layout.groups[item - layout.nodes]!.side;

/** The bounds of one side, where there are two. */
function sideBounds(picture: Picture, layout: Layout, side: number): Bounds {
  if (!picture.twoSided) return layout.bounds;
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let item = 0; item < layout.boxes.length / 4; item += 1) {
    const [x, y, w, h] = [0, 1, 2, 3].map((part) => layout.boxes[4 * item + part]!) as [number, number, number, number];
    if (sideOf(picture, layout, item) !== side || w === 0) continue;
    [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x + w), Math.max(bottom, y + h)];
  }
  return left === Infinity ? layout.bounds : [left, top, right, bottom];
}

/** Where one begins to look: at the top of a side. */
function startOf(picture: Picture, layout: Layout, side: number): Start {
  const first = firstItem(layout, (item) => sideOf(picture, layout, item) === side);
  const bounds = sideBounds(picture, layout, side);
  const x = first === undefined ? (bounds[0] + bounds[2]) / 2 : layout.boxes[4 * first]! + layout.boxes[4 * first + 2]! / 2;
  return { bounds, x };
}

function countItems(layout: Layout): number {
  let count = 0;
  for (let i = 2; i < layout.boxes.length; i += 4) if (layout.boxes[i]! > 0) count += 1;
  return count;
}
