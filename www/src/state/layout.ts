// Where the panes are. The arrangement is data: a tree of splits whose leaves are groups of tabs. A pane is added by naming
// it in a group; sizes and open tabs are kept between visits. A narrow window gets a single group with everything in it.
import { computed, signal } from "@preact/signals";
import type { PaneId } from "../panes/panes";
import { embedded, only, wantedPanes } from "./embedded";
import { still } from "./still";
import { looked } from "./looked";
import { loadLayout, saveLayout } from "./storage";

export interface Group {
  kind: "group";
  id: string;
  label: string;
  panes: readonly PaneId[];
}

export type Arrangement =
  | { kind: "split"; id: string; direction: "row" | "column"; at: number; label: string; first: Arrangement; second: Arrangement }
  | Group;

/** Panes that there are: a file that holds a report runs nothing. */
function there(panes: readonly PaneId[]): readonly PaneId[] {
  return still ? panes.filter((pane) => pane !== "run") : panes;
}

const WIDE: Arrangement = {
  kind: "split",
  id: "main",
  direction: "row",
  at: 0.42,
  label: "Width of the script",
  first: {
    kind: "split",
    id: "left",
    direction: "column",
    at: 0.7,
    label: "Height of the script",
    first: { kind: "group", id: "script", label: "Script", panes: ["script"] },
    second: { kind: "group", id: "output", label: "Output", panes: ["output", "timeline", "plot"] },
  },
  second: {
    kind: "split",
    id: "right",
    direction: "column",
    at: 0.62,
    label: "Height of the graphs",
    first: { kind: "group", id: "graphs", label: "Graphs", panes: ["graphs"] },
    second: { kind: "group", id: "details", label: "Details", panes: there(["saved", "partition", "memory", "aliasing", "guards", "run"]) },
  },
};
const NARROW: Group = {
  kind: "group",
  id: "all",
  label: "Views",
  panes: there(["script", "output", "graphs", "saved", "partition", "memory", "timeline", "plot", "aliasing", "guards", "run"]),
};
/** What a frame in another page shows: the script on the left, what became of it on the right; those panes that its address names, where it does. */
const FRAME_LEFT: readonly PaneId[] = ["script", "output"];
const FRAME_RIGHT: readonly PaneId[] = ["graphs", "saved", "partition", "memory", "aliasing", "guards", "timeline"];

/** Views of graphs that a frame may show alone. */
const GRAPHS = ["text", "picture", "table"] as const;

/** The view of graphs that a frame shows alone. */
export const onlyGraphs = GRAPHS.find((view) => view === only);
/** The pane that a frame shows alone. */
export const onlyPane = onlyGraphs ? "graphs" : NARROW.panes.find((pane) => pane === only);

/** What a frame shows, of the panes that its address names. */
export function frameOf(alone: PaneId | undefined, wanted: readonly string[] | undefined): Arrangement {
  const named = wanted?.flatMap((name) => NARROW.panes.find((pane) => pane === name) ?? []) ?? [];
  const panes = alone ? [alone] : named.length > 0 ? [...new Set(named)] : [...FRAME_LEFT, ...FRAME_RIGHT];
  const left = panes.filter((pane) => FRAME_LEFT.includes(pane) || pane === "plot");
  const right = panes.filter((pane) => !left.includes(pane));
  if (left.length === 0 || right.length === 0) return { kind: "group", id: "all", label: "Views", panes };
  return {
    kind: "split",
    id: "main",
    direction: "row",
    at: 0.42,
    label: "Width of the script",
    first: { kind: "group", id: "script", label: "Script", panes: left },
    second: { kind: "group", id: "graphs", label: "Graphs", panes: right },
  };
}

const FRAME = frameOf(onlyPane, wantedPanes);
/** The same in a narrow frame: one group. */
const NARROW_FRAME: Group = onlyPane || wantedPanes ? { ...NARROW, panes: groups(FRAME).flatMap(({ panes }) => panes) } : NARROW;

/** Sizes of splits and open tabs, by the names above. */
export const kept = signal<Record<string, unknown>>(embedded ? {} : loadLayout());
export const narrow = signal(false);
export const arrangement = computed(() => (embedded && !still ? (narrow.value ? NARROW_FRAME : FRAME) : narrow.value ? NARROW : WIDE));

/** The pane that the visitor opened last. */
export const front = looked<PaneId | undefined>("front", undefined, (raw) => groups(NARROW).flatMap(({ panes }) => panes).find((pane) => pane === raw));

/** The group of panes that has all the room, where one does. */
export const maximized = looked<string | undefined>("maximized", undefined, (raw) => groups(WIDE).find(({ id }) => id === raw)?.id);

export function keepLayout(id: string, value: unknown): void {
  front.value = groups(NARROW).flatMap(({ panes }) => panes).find((pane) => pane === value) ?? front.value;
  kept.value = { ...kept.value, [id]: value };
  if (!embedded) saveLayout(kept.value);
}

function groups(node: Arrangement): Group[] {
  return node.kind === "group" ? [node] : [...groups(node.first), ...groups(node.second)];
}

/** The pane in front of a group. */
export function openPane({ id, panes }: Group): PaneId | undefined {
  return panes.find((pane) => pane === kept.value[id]) ?? panes[0];
}

/** Every pane there is, in the order in which the keyboard goes through them. */
export const panesInOrder = computed(() => groups(arrangement.value).flatMap(({ panes }) => panes));

/** Panes in front that share their place with others. */
export function panesInFront(): PaneId[] {
  return groups(arrangement.value).flatMap((group) => {
    const open = openPane(group);
    return open && group.panes.length > 1 ? [open] : [];
  });
}

/** Brings a pane to the front of its group. */
export function showPane(pane: PaneId): void {
  const group = groups(arrangement.value).find(({ panes }) => panes.includes(pane));
  if (!group) return;
  // What is asked for is seen.
  if (maximized.value !== group.id) maximized.value = undefined;
  keepLayout(group.id, pane);
}

/** Puts sizes and tabs back to what they are for a first visitor. */
export function resetLayout(): void {
  kept.value = {};
  maximized.value = undefined;
  saveLayout({});
}
