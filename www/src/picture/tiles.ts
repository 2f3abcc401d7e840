// The picture as tiles, drawn once per scale and kept: panning copies them. Each frame draws new ones for as long as it may;
// until they are there, those of the scale before are shown, stretched.
import { type Camera, type Size, toScreen, visible } from "./camera";
import { paint, type Scene } from "./paint";

const TILE = 512;
/** Milliseconds a frame may spend on new tiles. */
const FRAME_BUDGET = 7;
const MOST_TILES = 96;

interface Sheet {
  /** Device pixels per unit. */
  scale: number;
  tiles: Map<number, OffscreenCanvas>;
}

const keyOf = (column: number, row: number): number => row * 65536 + column;

export class Tiles {
  private current: Sheet = { scale: 0, tiles: new Map() };
  private before: Sheet | undefined;
  private scene: Scene | undefined;
  /** Tiles drawn so far. */
  drawn = 0;

  /** Shows another scene, or the same in other colours. */
  reset(scene: Scene): void {
    this.scene = scene;
    this.before = undefined;
    this.current = { scale: 0, tiles: new Map() };
  }

  /** Draws one frame; says whether tiles are still missing. */
  draw(ctx: CanvasRenderingContext2D, camera: Camera, size: Size, ratio: number): boolean {
    const { scene } = this;
    if (!scene) return false;
    const scale = camera.scale * ratio;
    if (scale !== this.current.scale) {
      // A sheet with little on it is no better than the one before it.
      if (this.current.tiles.size >= 2 || !this.before) this.before = this.current;
      this.current = { scale, tiles: new Map() };
    }
    const deadline = performance.now() + FRAME_BUDGET;
    const view = visible(camera, size);
    const unit = TILE / scale;
    const [left, top, right, bottom] = [view.left, view.top, view.right, view.bottom].map((value) => Math.floor(value / unit)) as [number, number, number, number];
    const wanted: [number, number][] = [];
    for (let row = top; row <= bottom; row += 1) for (let column = left; column <= right; column += 1) wanted.push([column, row]);
    let missing = 0;
    for (const [column, row] of wanted) {
      if (this.current.tiles.has(keyOf(column, row))) continue;
      if (performance.now() < deadline) this.make(scene, column, row);
      else missing += 1;
    }
    if (missing > 0 && this.before) this.copy(ctx, this.before, camera, size, ratio);
    this.copy(ctx, this.current, camera, size, ratio);
    // What comes into view next, one tile at a time.
    let ahead = false;
    if (missing === 0) {
      this.before = undefined;
      const ring = ringAround(left, top, right, bottom).find(([column, row]) => this.current.tiles.has(keyOf(column, row)) === false && this.touches(scene, column, row));
      if (ring && performance.now() < deadline) {
        this.make(scene, ...ring);
        ahead = true;
      }
    }
    this.forget(left - 2, top - 2, right + 2, bottom + 2);
    return missing > 0 || ahead;
  }

  private touches({ layout }: Scene, column: number, row: number): boolean {
    const unit = TILE / this.current.scale;
    const [left, top, right, bottom] = layout.bounds;
    return (column + 1) * unit > left && column * unit < right && (row + 1) * unit > top && row * unit < bottom;
  }

  private make(scene: Scene, column: number, row: number): void {
    const { scale, tiles } = this.current;
    const canvas = new OffscreenCanvas(TILE, TILE);
    const ctx = canvas.getContext("2d");
    if (!ctx) return;
    const unit = TILE / scale;
    ctx.setTransform(scale, 0, 0, scale, -column * TILE, -row * TILE);
    paint(ctx, scene, { left: column * unit - 8, top: row * unit - 8, right: (column + 1) * unit + 8, bottom: (row + 1) * unit + 8 }, scale);
    tiles.set(keyOf(column, row), canvas);
    this.drawn += 1;
  }

  private copy(ctx: CanvasRenderingContext2D, sheet: Sheet, camera: Camera, size: Size, ratio: number): void {
    const unit = TILE / sheet.scale;
    const length = unit * camera.scale * ratio;
    for (const [key, canvas] of sheet.tiles) {
      const row = Math.round(key / 65536);
      const column = key - row * 65536;
      const [x, y] = toScreen(camera, size, column * unit, row * unit);
      if (x > size.width || y > size.height || (x * ratio + length) < 0 || (y * ratio + length) < 0) continue;
      // Whole pixels where the scale is the same: text stays sharp.
      if (sheet === this.current) ctx.drawImage(canvas, Math.round(x * ratio), Math.round(y * ratio));
      else ctx.drawImage(canvas, x * ratio, y * ratio, length, length);
    }
  }

  private forget(left: number, top: number, right: number, bottom: number): void {
    const { tiles } = this.current;
    if (tiles.size <= MOST_TILES) return;
    for (const key of tiles.keys()) {
      const row = Math.round(key / 65536);
      const column = key - row * 65536;
      if (column < left || column > right || row < top || row > bottom) tiles.delete(key);
    }
  }
}

function ringAround(left: number, top: number, right: number, bottom: number): [number, number][] {
  const ring: [number, number][] = [];
  for (let row = top - 1; row <= bottom + 1; row += 1) {
    for (let column = left - 1; column <= right + 1; column += 1) {
      if (row < top || row > bottom || column < left || column > right) ring.push([column, row]);
    }
  }
  return ring;
}
