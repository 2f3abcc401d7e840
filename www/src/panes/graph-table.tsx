// The selected graph as a table: the columns of `print_tabular`, then type, bytes, line, pass and module. Only rows that can be seen
// are drawn, so that graphs of tens of thousands of nodes scroll freely.
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { NodeView } from "../generated/report";
import { belongs, correspond } from "../report/correspond";
import { shortPlace } from "../report/place";
import { formatBytes, formatShape } from "../report/format";
import { looked } from "../state/looked";
import { select, selection } from "../state/selection";
import { selectedStage, selectedUnit, sourceNames } from "../state/unit";
import "../styles/table.css";

interface Column {
  key: string;
  title: string;
  text(node: NodeView): string;
  /** What it is sorted by, where that is not its text. */
  order?(node: NodeView): number;
  number?: boolean;
  /** Letters it is wide at most. */
  most: number;
}

const COLUMNS: readonly Column[] = [
  { key: "opcode", title: "opcode", text: ({ op }) => op, most: 14 },
  { key: "name", title: "name", text: ({ name }) => name, most: 36 },
  { key: "target", title: "target", text: ({ target }) => target, most: 44 },
  { key: "args", title: "args", text: ({ args }) => args, most: 34 },
  { key: "kwargs", title: "kwargs", text: ({ kwargs }) => kwargs, most: 24 },
  { key: "shape", title: "shape", text: (node) => [node.dtype, formatShape(node.shape)].filter(Boolean).join(" "), most: 26 },
  { key: "bytes", title: "bytes", text: ({ bytes }) => (bytes === null ? "" : formatBytes(bytes)), order: ({ bytes }) => bytes ?? -1, number: true, most: 10 },
  { key: "line", title: "line", text: ({ span }) => (span ? shortPlace(span) : ""), order: ({ span }) => span?.line ?? -1, number: true, most: 16 },
  { key: "pass", title: "pass", text: ({ is_backward }) => (is_backward ? "backward" : "forward"), most: 9 },
  { key: "source", title: "source", text: ({ op, name }) => (op === "placeholder" ? (sourceNames.value.get(name) ?? "") : ""), most: 40 },
  { key: "module", title: "module", text: ({ module_path }) => module_path, most: 30 },
];

/** By which column rows are sorted; in the graph's order without one. */
const sorting = looked<{ key: string; down: boolean } | undefined>("tableSort", undefined, readSorting);

function readSorting(raw: unknown): { key: string; down: boolean } | undefined {
  const { key, down } = (raw ?? {}) as { key?: unknown; down?: unknown };
  return typeof key === "string" && typeof down === "boolean" && COLUMNS.some((column) => column.key === key) ? { key, down } : undefined;
}

const ROW = 26;
/** Rows drawn beyond those that can be seen. */
const MARGIN = 8;
/** Nodes whose texts decide how wide columns are. */
const SAMPLE = 2000;

export default function GraphTable(): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const scroll = useSignal(0);
  const height = useSignal(600);
  const graph = useComputed(() => (selectedStage.value ? selectedUnit.value?.stages[selectedStage.value] : undefined));
  const rows = useComputed(() => sorted(graph.value?.nodes ?? []));
  const widths = useComputed(() => columnWidths(graph.value?.nodes ?? []));
  const main = useComputed(() => (graph.value && selection.value ? correspond(graph.value, selection.value) : undefined));

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => (height.value = element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useSignalEffect(() => {
    const at = main.value ? rows.value.indexOf(main.value) : -1;
    if (at >= 0 && selection.peek()?.from !== "table") show(box.current, at);
  });

  const choose = (at: number): void => {
    const node = rows.value[at];
    if (!node) return;
    select({ from: "table", span: node.span ?? undefined, names: [node.name] });
    show(box.current, at);
  };
  const key = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(height.value / ROW) - 2);
    const at = main.value ? rows.value.indexOf(main.value) : -1;
    const last = rows.value.length - 1;
    const moves: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: last };
    const next = moves[event.key];
    if (next === undefined || event.target !== event.currentTarget) return;
    event.preventDefault();
    choose(Math.min(last, Math.max(0, next)));
  };

  const first = Math.max(0, Math.floor(scroll.value / ROW) - MARGIN);
  const shown = rows.value.slice(first, first + Math.ceil(height.value / ROW) + 2 * MARGIN);
  const chosen = selection.value;
  const template = { gridTemplateColumns: widths.value.map((letters) => `${letters + 3}ch`).join(" ") };
  const active = main.value && shown.includes(main.value) ? `row-${main.value.id}` : undefined;
  return (
    <div
      ref={box}
      class="graph-table"
      role="grid"
      tabIndex={0}
      aria-label="Nodes of the graph"
      aria-rowcount={rows.value.length + 1}
      aria-activedescendant={active}
      onScroll={(event) => (scroll.value = event.currentTarget.scrollTop)}
      onKeyDown={key}
    >
      <div class="graph-table-head" role="row" aria-rowindex={1} style={template}>
        {COLUMNS.map((column) => (
          <Header key={column.key} column={column} />
        ))}
      </div>
      <div class="graph-table-body" role="rowgroup" style={{ height: `${rows.value.length * ROW}px` }}>
        {shown.map((node, index) => (
          <div
            key={node.id}
            id={`row-${node.id}`}
            role="row"
            class={`graph-row ${chosen && belongs(node, chosen) ? "linked" : ""} ${node === main.value ? "chosen" : ""}`}
            aria-rowindex={first + index + 2}
            aria-selected={node === main.value}
            data-side={node.is_backward ? "backward" : "forward"}
            style={{ ...template, transform: `translateY(${(first + index) * ROW}px)` }}
            onClick={() => choose(first + index)}
          >
            {COLUMNS.map(({ key: name, text, number }) => (
              <span key={name} role="gridcell" class={number ? "number" : ""} title={text(node)}>
                {text(node)}
              </span>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

function Header({ column }: { column: Column }): JSX.Element {
  const now = sorting.value?.key === column.key ? sorting.value : undefined;
  const turn = (): void => {
    // Up, down, then the graph's own order again.
    sorting.value = !now ? { key: column.key, down: false } : now.down ? undefined : { key: column.key, down: true };
  };
  return (
    <span role="columnheader" aria-sort={now ? (now.down ? "descending" : "ascending") : "none"} class={column.number ? "number" : ""}>
      <button type="button" class="sort" onClick={turn}>
        {column.title}
        <span aria-hidden="true">{now ? (now.down ? " ↓" : " ↑") : ""}</span>
      </button>
    </span>
  );
}

function sorted(nodes: readonly NodeView[]): readonly NodeView[] {
  const by = COLUMNS.find(({ key }) => key === sorting.value?.key);
  if (!by || !sorting.value) return nodes;
  const sign = sorting.value.down ? -1 : 1;
  const { order } = by;
  if (order) return nodes.toSorted((a, b) => sign * (order(a) - order(b)));
  const texts = new Map(nodes.map((node) => [node, by.text(node)]));
  const collator = new Intl.Collator("en", { numeric: true });
  return nodes.toSorted((a, b) => sign * collator.compare(texts.get(a)!, texts.get(b)!));
}

function columnWidths(nodes: readonly NodeView[]): number[] {
  const sample = nodes.slice(0, SAMPLE);
  return COLUMNS.map(({ title, text, most }) => Math.min(most, sample.reduce((letters, node) => Math.max(letters, text(node).length), title.length + 2)));
}

/** Scrolls to a row, if it cannot be seen under the head. */
function show(box: HTMLElement | null, at: number): void {
  if (!box) return;
  const top = at * ROW;
  const room = box.clientHeight - ROW - 4;
  if (top < box.scrollTop) box.scrollTop = top - ROW;
  else if (top + ROW > box.scrollTop + room) box.scrollTop = top + 2 * ROW - room;
}
