// The wires that an item's values come and go by.
import type { Layout } from "./layout";
import type { Neighbours } from "./navigate";

export interface WirePart {
  wire: number;
  /** Points of it, from its start. */
  to: number;
}

/** Wires by the item whose value they carry. */
export class WireIndex {
  private readonly bySource = new Map<number, number[]>();

  constructor(private readonly layout: Layout) {
    const { source } = layout.wires;
    for (let wire = 0; wire < source.length; wire += 1) {
      const list = this.bySource.get(source[wire]!);
      if (list) list.push(wire);
      else this.bySource.set(source[wire]!, [wire]);
    }
  }

  /** All wires from an item, and of those to it the parts that lead there. */
  of(item: number, neighbours: Neighbours): WirePart[] {
    const parts: WirePart[] = (this.bySource.get(item) ?? []).map((wire) => ({ wire, to: Infinity }));
    const { wires } = this.layout;
    for (const from of neighbours.inputs(item)) {
      for (const wire of this.bySource.get(from) ?? []) {
        const target = wires.target[wire]!;
        const leads = target >= 0 ? this.holds(target, item) : target <= -2 && !this.holds(-2 - target, item);
        if (!leads) continue;
        parts.push({ wire, to: Infinity });
        const bus = wires.bus[wire]!;
        if (bus >= 0) parts.push({ wire: bus, to: wires.busLength[wire]! });
      }
    }
    return parts;
  }

  private holds(outer: number, item: number): boolean {
    for (let at = item; at >= 0; at = this.layout.parent[at]!) if (at === outer) return true;
    return false;
  }
}
