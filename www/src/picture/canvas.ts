// The picture's window: a canvas with a camera. It draws when something changed, moves with pointer and wheel, and says what was
// pointed at; what that means is decided elsewhere.
import { onThemeChange } from "../state/theme";
import { type Camera, confine, fit, opening, reveal, type Size, toScreen, toWorld, visible, zoom } from "./camera";
import { Grid } from "./grid";
import type { Layout } from "./layout";
import type { Picture } from "./model";
import { joinedChips, type Scene, tracePath } from "./paint";
import { readTheme } from "./theme";
import { Tiles } from "./tiles";

export interface CanvasEvents {
  /** An item was pressed, or the ground. */
  onPress(item: number | undefined): void;
  /** An item is to be opened or closed. */
  onToggle(item: number): void;
}

/** What is drawn over the picture. */
export interface Marks {
  focus: number | undefined;
  /** Wires from and to the focus. */
  wires: readonly { wire: number; to: number }[];
  /** Items linked to the choice. */
  linked: ReadonlySet<number>;
  matches: ReadonlySet<number>;
}

/** Left, top, right, bottom. */
export type Bounds = readonly [number, number, number, number];

/** The part a camera opens on, and the middle of what comes first in it. */
export interface Start {
  bounds: Bounds;
  x: number;
}

const CLICK_SLACK = 4;

export class PictureCanvas {
  readonly canvas = document.createElement("canvas");
  private readonly ctx = this.canvas.getContext("2d")!;
  private readonly tiles = new Tiles();
  private readonly stops: (() => void)[] = [];
  private scene: Scene | undefined;
  private camera: Camera = { x: 0, y: 0, scale: 1 };
  private size: Size = { width: 0, height: 0 };
  private ratio = 1;
  /** Where the window's corner is on the page. */
  private corner: [number, number] = [0, 0];
  private frame: number | undefined;
  private marks: Marks = { focus: undefined, wires: [], linked: new Set(), matches: new Set() };
  private hover: number | undefined;
  private flight: { from: Camera; to: Camera; start: number } | undefined;
  private opened = false;
  private start: Start = { bounds: [0, 0, 0, 0], x: 0 };
  private pointers = new Map<number, { x: number; y: number; startX: number; startY: number; moved: boolean }>();

  constructor(
    private readonly host: HTMLElement,
    private readonly events: CanvasEvents,
  ) {
    this.canvas.setAttribute("aria-hidden", "true");
    host.prepend(this.canvas);
    const observer = new ResizeObserver(() => this.resize());
    observer.observe(host);
    this.stops.push(() => observer.disconnect(), onThemeChange(() => this.recolour()));
    this.listen();
    this.resize();
  }

  close(): void {
    for (const stop of this.stops) stop();
    if (this.frame !== undefined) cancelAnimationFrame(this.frame);
    this.canvas.remove();
  }

  /**
   * Shows a layout; `hold` names an item of it and where in the window the middle of its top is to stay. Without one the camera
   * opens on `start`.
   */
  show(picture: Picture, layout: Layout, start: Start, hold?: { item: number; x: number; y: number }): Grid {
    const grid = new Grid(layout);
    this.scene = { picture, layout, grid, theme: readTheme(this.host), joined: joinedChips(picture, layout) };
    this.tiles.reset(this.scene);
    this.hover = undefined;
    this.flight = undefined;
    if (hold) {
      const [x] = this.middle(hold.item);
      const y = layout.boxes[4 * hold.item + 1]!;
      this.camera = { ...this.camera, x: x - (hold.x - this.size.width / 2) / this.camera.scale, y: y - (hold.y - this.size.height / 2) / this.camera.scale };
    } else {
      this.look(start);
    }
    this.invalidate();
    return grid;
  }

  /** Opens the camera on a part of the picture. */
  look(start: Start): void {
    this.start = start;
    this.opened = false;
    this.open();
    this.invalidate();
  }

  setMarks(marks: Marks): void {
    this.marks = marks;
    this.invalidate();
  }

  fit(): void {
    if (!this.scene) return;
    this.camera = fit(this.scene.layout.bounds, this.size, 1.2);
    this.flight = undefined;
    this.invalidate();
  }

  zoomBy(factor: number, x = this.size.width / 2, y = this.size.height / 2): void {
    if (!this.scene) return;
    const smallest = Math.min(0.2, fit(this.scene.layout.bounds, this.size).scale * 0.8);
    this.camera = zoom(this.camera, this.size, factor, x, y, smallest);
    this.flight = undefined;
    this.invalidate();
  }

  panBy(dx: number, dy: number): void {
    if (!this.scene) return;
    const { scale } = this.camera;
    this.camera = confine({ ...this.camera, x: this.camera.x - dx / scale, y: this.camera.y - dy / scale }, this.size, this.scene.layout.bounds);
    this.flight = undefined;
    this.invalidate();
  }

  /** Brings an item into the window, and near enough to be read. */
  reveal(item: number): void {
    if (!this.scene) return;
    const at = this.flight?.to ?? this.camera;
    const [x, y] = this.middle(item);
    const near = at.scale < 0.5 ? { x, y, scale: 0.8 } : at;
    const to = reveal(near, this.size, Array.from(this.scene.layout.boxes.subarray(4 * item, 4 * item + 4)));
    if (to.scale !== this.camera.scale || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.camera = to;
      this.flight = undefined;
    } else if (to.x !== at.x || to.y !== at.y) {
      this.flight = { from: this.camera, to, start: performance.now() };
    }
    this.invalidate();
  }

  /** Where an item's middle is in the window. */
  whereIs(item: number): [number, number] {
    return toScreen(this.camera, this.size, ...this.middle(item));
  }

  /** Where the middle of an item's top is in the window. */
  topOf(item: number): [number, number] {
    const [x] = this.middle(item);
    return toScreen(this.camera, this.size, x, this.scene!.layout.boxes[4 * item + 1]!);
  }

  /** Whether an item's middle can be seen. */
  sees(item: number): boolean {
    const [x, y] = this.whereIs(item);
    return x >= 0 && y >= 0 && x <= this.size.width && y <= this.size.height;
  }

  private middle(item: number): [number, number] {
    const { boxes } = this.scene!.layout;
    return [boxes[4 * item]! + boxes[4 * item + 2]! / 2, boxes[4 * item + 1]! + boxes[4 * item + 3]! / 2];
  }

  private open(): void {
    if (this.opened || !this.scene || this.size.width < 10 || this.size.height < 10) return;
    this.camera = opening(this.scene.layout.bounds, this.start.bounds, this.size, this.start.x);
    this.opened = true;
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.host;
    const ratio = Math.min(2, devicePixelRatio || 1);
    if (width === this.size.width && height === this.size.height && ratio === this.ratio) return;
    const { left, top } = this.host.getBoundingClientRect();
    if (this.opened) {
      // What is seen stays where it is on the page: the window may have grown upwards.
      const [dx, dy] = [left + width / 2 - this.corner[0] - this.size.width / 2, top + height / 2 - this.corner[1] - this.size.height / 2];
      this.camera = { ...this.camera, x: this.camera.x + dx / this.camera.scale, y: this.camera.y + dy / this.camera.scale };
    }
    this.corner = [left, top];
    this.size = { width, height };
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.open();
    // At once: a canvas that was given another size is blank.
    this.draw();
  }

  private recolour(): void {
    if (!this.scene) return;
    this.scene = { ...this.scene, theme: readTheme(this.host) };
    this.tiles.reset(this.scene);
    this.invalidate();
  }

  private invalidate(): void {
    this.host.dataset.moves = "";
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.draw();
    });
  }

  private draw(): void {
    const { ctx, scene, size, ratio } = this;
    if (!scene || size.width === 0) return;
    if (this.flight) {
      const { from, to, start } = this.flight;
      const share = Math.min(1, (performance.now() - start) / 180);
      const eased = 1 - (1 - share) ** 3;
      this.camera = { scale: to.scale, x: from.x + (to.x - from.x) * eased, y: from.y + (to.y - from.y) * eased };
      if (share === 1) this.flight = undefined;
    }
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const unfinished = this.tiles.draw(ctx, this.camera, size, ratio);
    this.drawMarks(scene);
    const { focus } = this.marks;
    if (focus !== undefined) this.host.dataset.focusAt = this.whereIs(focus).map(Math.round).join(" ");
    this.host.dataset.at = `${Math.round(this.camera.x)} ${Math.round(this.camera.y)}`;
    this.host.dataset.tiles = String(this.tiles.drawn);
    this.host.dataset.scale = this.camera.scale.toFixed(3);
    if (unfinished || this.flight) this.invalidate();
    else if (this.frame === undefined) delete this.host.dataset.moves;
  }

  private drawMarks({ layout, theme, grid }: Scene): void {
    const { ctx, camera, size, ratio } = this;
    const scale = camera.scale * ratio;
    ctx.setTransform(scale, 0, 0, scale, (size.width / 2) * ratio - camera.x * scale, (size.height / 2) * ratio - camera.y * scale);
    const { focus, wires, linked, matches } = this.marks;
    const ring = (item: number, colour: string, width: number, gap: number): void => {
      const [x, y, w, h] = [0, 1, 2, 3].map((part) => layout.boxes[4 * item + part]!) as [number, number, number, number];
      const grown = gap / camera.scale;
      ctx.beginPath();
      ctx.roundRect(x - grown, y - grown, w + 2 * grown, h + 2 * grown, 6 + grown);
      ctx.lineWidth = width / camera.scale;
      ctx.strokeStyle = colour;
      ctx.stroke();
    };
    if (wires.length > 0) {
      ctx.strokeStyle = theme.accent;
      ctx.lineWidth = 2 / Math.max(0.2, camera.scale);
      ctx.beginPath();
      for (const { wire, to } of wires) tracePath(ctx, layout, wire, camera.scale, 0, to);
      ctx.stroke();
    }
    if (linked.size > 0 || matches.size > 0) {
      for (const item of grid.itemsIn(visible(camera, size))) {
        if (linked.has(item)) ring(item, theme.linked, 4, 2);
        if (matches.has(item)) ring(item, theme.match, 3, 3);
      }
    }
    if (this.hover !== undefined && this.hover !== focus) ring(this.hover, theme.muted, 1.5, 2);
    if (focus !== undefined) ring(focus, theme.accent, 2.5, 2.5);
  }

  private listen(): void {
    const { canvas } = this;
    const on = <K extends keyof HTMLElementEventMap>(type: K, listener: (event: HTMLElementEventMap[K]) => void, options?: AddEventListenerOptions): void =>
      canvas.addEventListener(type, listener, options);
    on("wheel", (event) => this.onWheel(event), { passive: false });
    on("pointerdown", (event) => {
      if (event.button !== 0 && event.pointerType === "mouse") return;
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY, startX: event.offsetX, startY: event.offsetY, moved: false });
    });
    on("pointermove", (event) => this.onMove(event));
    on("pointerup", (event) => {
      const pointer = this.pointers.get(event.pointerId);
      this.pointers.delete(event.pointerId);
      if (pointer && !pointer.moved) this.press(event.offsetX, event.offsetY);
    });
    on("pointercancel", (event) => this.pointers.delete(event.pointerId));
    on("pointerleave", () => this.setHover(undefined));
    on("dblclick", (event) => {
      const item = this.itemAt(event.offsetX, event.offsetY);
      if (item !== undefined && this.scene && item >= this.scene.layout.nodes) this.events.onToggle(item);
    });
  }

  private onWheel(event: WheelEvent): void {
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : event.deltaMode === WheelEvent.DOM_DELTA_PAGE ? this.size.height : 1;
    if (event.ctrlKey || event.metaKey) this.zoomBy(Math.exp(-event.deltaY * unit * 0.004), event.offsetX, event.offsetY);
    else if (event.shiftKey && event.deltaX === 0) this.panBy(-event.deltaY * unit, 0);
    else this.panBy(-event.deltaX * unit, -event.deltaY * unit);
  }

  private onMove(event: PointerEvent): void {
    const pointer = this.pointers.get(event.pointerId);
    if (!pointer) {
      this.setHover(this.itemAt(event.offsetX, event.offsetY));
      return;
    }
    const others = [...this.pointers.entries()].filter(([id]) => id !== event.pointerId).map(([, other]) => other);
    const [dx, dy] = [event.offsetX - pointer.x, event.offsetY - pointer.y];
    if (Math.hypot(event.offsetX - pointer.startX, event.offsetY - pointer.startY) > CLICK_SLACK) pointer.moved = true;
    const other = others[0];
    if (other) {
      const apart = Math.hypot(pointer.x - other.x, pointer.y - other.y);
      const next = Math.hypot(event.offsetX - other.x, event.offsetY - other.y);
      [pointer.moved, other.moved] = [true, true];
      this.panBy(dx / 2, dy / 2);
      if (apart > 0) this.zoomBy(next / apart, (event.offsetX + other.x) / 2, (event.offsetY + other.y) / 2);
    } else if (pointer.moved) {
      this.panBy(dx, dy);
    }
    [pointer.x, pointer.y] = [event.offsetX, event.offsetY];
  }

  private press(x: number, y: number): void {
    const item = this.itemAt(x, y);
    const { scene } = this;
    if (item !== undefined && scene && item >= scene.layout.nodes) {
      // The triangle at the left of a group opens and closes it.
      const [left] = toScreen(this.camera, this.size, scene.layout.boxes[4 * item]!, 0);
      if (x - left < Math.max(22, 22 * this.camera.scale)) {
        this.events.onToggle(item);
        return;
      }
    }
    this.events.onPress(item);
  }

  private itemAt(x: number, y: number): number | undefined {
    return this.scene?.grid.at(...toWorld(this.camera, this.size, x, y), 3 / this.camera.scale);
  }

  private setHover(item: number | undefined): void {
    this.canvas.style.cursor = item === undefined ? "grab" : "pointer";
    if (item === this.hover) return;
    this.hover = item;
    this.invalidate();
  }
}
