// Where the panes are. The arrangement is data: a tree of splits whose leaves are groups of tabs. A pane is added by naming
// it in a group; sizes and open tabs are kept between visits. A narrow window gets a single group with everything in it.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { PANES, type PaneId } from "../panes/panes";
import { loadLayout, saveLayout } from "../state/storage";
import { Split } from "./split";
import { Tabs } from "./tabs";

type Arrangement =
  | { kind: "split"; id: string; direction: "row" | "column"; at: number; label: string; first: Arrangement; second: Arrangement }
  | { kind: "group"; id: string; label: string; panes: readonly PaneId[] };

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
    second: { kind: "group", id: "output", label: "Output", panes: ["output"] },
  },
  second: {
    kind: "split",
    id: "right",
    direction: "column",
    at: 0.62,
    label: "Height of the graphs",
    first: { kind: "group", id: "graphs", label: "Graphs", panes: ["graphs"] },
    second: { kind: "group", id: "details", label: "Details", panes: ["saved", "run"] },
  },
};
const NARROW: Arrangement = { kind: "group", id: "all", label: "Views", panes: ["script", "output", "graphs", "saved", "run"] };

const kept = signal<Record<string, unknown>>(loadLayout());
const narrow = signal(false);

function keep(id: string, value: unknown): void {
  kept.value = { ...kept.value, [id]: value };
  saveLayout(kept.value);
}

/** Brings a pane to the front of its group. */
export function showPane(pane: PaneId): void {
  const visit = (node: Arrangement): void => {
    if (node.kind === "split") {
      visit(node.first);
      visit(node.second);
    } else if (node.panes.includes(pane)) {
      keep(node.id, pane);
    }
  };
  visit(narrow.value ? NARROW : WIDE);
}

export function Layout(): JSX.Element {
  useEffect(() => {
    const query = matchMedia("(max-width: 800px)");
    const follow = (): void => {
      narrow.value = query.matches;
    };
    follow();
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);
  return <Arranged node={narrow.value ? NARROW : WIDE} />;
}

function Arranged({ node }: { node: Arrangement }): JSX.Element {
  if (node.kind === "group") return <Group {...node} />;
  const saved = kept.value[node.id];
  const at = typeof saved === "number" && saved > 0 && saved < 1 ? saved : node.at;
  return (
    <Split direction={node.direction} at={at} label={node.label} onMove={(next) => keep(node.id, next)}>
      <Arranged node={node.first} />
      <Arranged node={node.second} />
    </Split>
  );
}

function Group({ id, label, panes }: { id: string; label: string; panes: readonly PaneId[] }): JSX.Element {
  const saved = kept.value[id];
  const open = panes.find((pane) => pane === saved) ?? panes[0];
  const Pane = open && PANES[open].component;
  const Tools = open && PANES[open].tools;
  const tabs = panes.map((key) => ({ key, title: <PaneTitle pane={key} /> }));
  return (
    <section class="group" aria-label={label}>
      <header class="group-head">
        <Tabs id={id} label={label} tabs={tabs} open={open} onOpen={(pane) => keep(id, pane)} class="pane-tabs" />
        {Tools && <Tools />}
      </header>
      <div class="group-body" id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-tab-${open}`} data-pane={open}>
        {Pane && <Pane />}
      </div>
    </section>
  );
}

function PaneTitle({ pane }: { pane: PaneId }): JSX.Element {
  const { title, short, badge } = PANES[pane];
  const text = badge?.();
  return (
    <>
      {narrow.value && short ? short : title}
      {text && <span class="badge">{text}</span>}
    </>
  );
}
