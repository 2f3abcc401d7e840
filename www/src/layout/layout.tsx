// Draws the arrangement of panes, and moves among them by F6.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { PANES, type PaneId } from "../panes/panes";
import { type Arrangement, arrangement, type Group as GroupOf, keepLayout, kept, maximized, narrow, onlyPane, openPane, panesInOrder, showPane } from "../state/layout";
import { Split } from "./split";
import { Tabs } from "./tabs";

export function Layout(): JSX.Element {
  useEffect(() => {
    const query = matchMedia("(max-width: 800px)");
    const follow = (): void => {
      narrow.value = query.matches;
    };
    follow();
    query.addEventListener("change", follow);
    window.addEventListener("keydown", walk);
    return () => {
      query.removeEventListener("change", follow);
      window.removeEventListener("keydown", walk);
    };
  }, []);
  return <Arranged node={arrangement.value} />;
}

/** F6 goes to the next pane, with Shift to the one before, and brings it to the front. */
function walk(event: KeyboardEvent): void {
  if (event.key !== "F6" || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  const all = panesInOrder.value;
  const inside = document.activeElement?.closest<HTMLElement>(".group")?.querySelector<HTMLElement>("[data-pane]")?.dataset.pane;
  const at = all.findIndex((pane) => pane === inside);
  const step = event.shiftKey ? -1 : 1;
  const next = all[(at < 0 ? (step > 0 ? 0 : -1) : at + step + all.length) % all.length] ?? all[0];
  if (next) focusPane(next);
}

/** Brings a pane to the front and the keyboard into it. */
export function focusPane(pane: PaneId): void {
  showPane(pane);
  requestAnimationFrame(() => {
    const body = document.querySelector<HTMLElement>(`[data-pane="${pane}"]`);
    (body?.querySelector<HTMLElement>('.cm-content, [tabindex="0"]') ?? body)?.focus();
  });
}

function Arranged({ node }: { node: Arrangement }): JSX.Element {
  if (node.kind === "group") return <Group {...node} />;
  const saved = kept.value[node.id];
  const at = typeof saved === "number" && saved > 0 && saved < 1 ? saved : node.at;
  return (
    <Split direction={node.direction} at={at} label={node.label} onMove={(next) => keepLayout(node.id, next)}>
      <Arranged node={node.first} />
      <Arranged node={node.second} />
    </Split>
  );
}

function Group(group: GroupOf): JSX.Element {
  const { id, label, panes } = group;
  const open = openPane(group);
  const Pane = open && PANES[open].component;
  const Tools = open && PANES[open].tools;
  // Alone, it needs no tab, and nothing that is done with it.
  if (onlyPane) return <section class="group alone" aria-label={PANES[onlyPane].title} data-pane={onlyPane}>{Pane && <Pane />}</section>;
  const isLarge = !narrow.value && maximized.value === id;
  const tabs = panes.map((key) => ({ key, title: <PaneTitle pane={key} /> }));
  return (
    <section class={isLarge ? "group maximized" : "group"} aria-label={label}>
      <header class="group-head">
        <Tabs id={id} label={label} tabs={tabs} open={open} onOpen={(pane) => keepLayout(id, pane)} class="pane-tabs" />
        {Tools && <Tools />}
        {!narrow.value && (
          <button
            type="button"
            class="maximize"
            aria-label={isLarge ? `Restore ${label}` : `Maximize ${label}`}
            title={isLarge ? "Restore" : "Maximize"}
            onClick={() => (maximized.value = isLarge ? undefined : id)}
          >
            <span aria-hidden="true">{isLarge ? "❐" : "□"}</span>
          </button>
        )}
      </header>
      <div class="group-body" id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-tab-${open}`} data-pane={open} tabIndex={-1}>
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
