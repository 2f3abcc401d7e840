// A list of values: sorted by a column, narrowed to words, by line or module with equal layers as one, copied as a table.
import { type Signal, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { copy } from "../exports/deliver";
import { plural, formatBytes } from "../report/format";
import { type Group, grouped, type Grouping, GROUPINGS, markdown, type Placed } from "../report/grouping";
import { looked, oneOf, word } from "../state/looked";
import { selection } from "../state/selection";

export interface ListColumn<T> {
  key: string;
  title: string;
  help?: string;
  number?: boolean;
  /** As the table that is copied has it. */
  text(item: T): string;
  /** What it is sorted by, where that is not its text. */
  order?(item: T): number;
  /** What is shown, where that is not its text. */
  cell?(item: T): JSX.Element;
  /** What is shown of a group. */
  ofGroup?(bytes: number): JSX.Element;
  /** Classes of its cells. */
  look?: string;
}

interface Sorting {
  key: string;
  down: boolean;
}

/** What a list is turned to; links hold it. */
export interface ListState {
  sorting: Signal<Sorting>;
  filter: Signal<string | undefined>;
  by: Signal<Grouping>;
  /** Groups that are open. */
  open: Signal<ReadonlySet<string>>;
  /** Whether all rows are drawn. */
  all: Signal<boolean>;
}

/** Rows drawn before the visitor asks for all of them. */
const MOST_ROWS = 300;

/** A list that begins with its largest values. */
export function listState(name: string): ListState {
  const readSorting = (raw: unknown): Sorting | undefined => {
    const { key, down } = (raw ?? {}) as { key?: unknown; down?: unknown };
    return typeof key === "string" && typeof down === "boolean" ? { key, down } : undefined;
  };
  return {
    sorting: looked<Sorting>(`${name}Sort`, { key: "bytes", down: true }, readSorting),
    filter: looked<string | undefined>(`${name}Filter`, undefined, word),
    by: looked<Grouping>(`${name}By`, "none", oneOf(GROUPINGS)),
    open: signal<ReadonlySet<string>>(new Set()),
    all: signal(false),
  };
}

interface Props<T> {
  label: string;
  state: ListState;
  items: readonly T[];
  columns: readonly ListColumn<T>[];
  class: string;
  onChoose(item: T): void;
  /** What stands below the row of a value that is looked at. */
  detail?(item: T): JSX.Element | undefined;
  /** What stands below the list: rows of the table. */
  children?: JSX.Element;
}

export function ValueList<T extends Placed>(props: Props<T>): JSX.Element {
  const { state, columns, label } = props;
  const items = sorted(narrowed(props.items, columns, state.filter.value), columns, state.sorting.value);
  const by = state.by.value;
  const groups = by === "none" ? undefined : grouped(items, by);
  if (groups && state.sorting.value.key === "bytes") groups.sort((a, b) => (state.sorting.value.down ? b.bytes - a.bytes : a.bytes - b.bytes));
  const rows = groups ? groups.flatMap((group): (Group<T> | T)[] => (state.open.value.has(group.key) ? [group, ...group.items] : [group])) : items;
  const drawn = state.all.value ? rows : rows.slice(0, MOST_ROWS);
  return (
    <>
      <Controls {...props} shown={items} />
      <table class={`table ${props.class}`} aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Heading key={column.key} column={column} sorting={state.sorting} />
            ))}
          </tr>
        </thead>
        <tbody>
          {drawn.map((row) => ("items" in row ? <GroupRow key={`group ${row.key}`} group={row} state={state} columns={columns} /> : <Row key={row.name} item={row} {...props} />))}
          {drawn.length === 0 && (
            <tr>
              <td colSpan={columns.length} class="muted">
                No value has these words.
              </td>
            </tr>
          )}
        </tbody>
        {props.children}
      </table>
      {drawn.length < rows.length && (
        <p class="caption">
          {plural(rows.length - drawn.length, "more row")}.{" "}
          <button type="button" class="link" onClick={() => (state.all.value = true)}>
            Show them
          </button>
        </p>
      )}
    </>
  );
}

function Controls<T extends Placed>({ state, columns, shown }: Props<T> & { shown: readonly T[] }): JSX.Element {
  const [copied, setCopied] = useState(false);
  const table = (): string => markdown(columns.map(({ title }) => title), shown.map((item) => columns.map(({ text }) => text(item))));
  return (
    <p class="run-controls">
      <label class="field">
        Filter
        <input class="input" type="text" value={state.filter.value ?? ""} onInput={({ currentTarget: { value } }) => (state.filter.value = value || undefined)} />
      </label>
      <label class="field">
        By
        <select class="select" value={state.by.value} onChange={({ currentTarget: { value } }) => (state.by.value = oneOf(GROUPINGS)(value) ?? "none")}>
          <option value="none">value</option>
          <option value="line">line</option>
          <option value="module">module</option>
        </select>
      </label>
      <button type="button" class="button" onClick={() => void copy(table(), "The table").then(setCopied)}>
        {copied ? "Copied" : "Copy as a table"}
      </button>
    </p>
  );
}

function Heading<T>({ column, sorting }: { column: ListColumn<T>; sorting: Signal<Sorting> }): JSX.Element {
  const now = sorting.value.key === column.key ? sorting.value : undefined;
  // Numbers are wanted from the largest down.
  const turn = (): void => {
    sorting.value = { key: column.key, down: now ? !now.down : column.number === true };
  };
  return (
    <th scope="col" class={column.number ? "number" : undefined} title={column.help} aria-sort={now ? (now.down ? "descending" : "ascending") : "none"}>
      <button type="button" class="sort" onClick={turn}>
        {column.title}
        <span aria-hidden="true">{now ? (now.down ? " ↓" : " ↑") : ""}</span>
      </button>
    </th>
  );
}

function GroupRow<T extends Placed>({ group, state, columns }: { group: Group<T>; state: ListState; columns: readonly ListColumn<T>[] }): JSX.Element {
  const isOpen = state.open.value.has(group.key);
  const turn = (): void => {
    const next = new Set(state.open.value);
    if (!next.delete(group.key)) next.add(group.key);
    state.open.value = next;
  };
  const bytes = columns.findIndex(({ key }) => key === "bytes");
  return (
    <tr class="group-row">
      <th scope="rowgroup" colSpan={bytes}>
        <button type="button" class="link" aria-expanded={isOpen} onClick={turn}>
          {group.title}
        </button>
        {group.times > 1 && <span class="times"> ×{group.times}</span>} <span class="muted">{plural(group.items.length, "value")}</span>
      </th>
      <td class="number">{formatBytes(group.bytes)}</td>
      {columns.slice(bytes + 1).map(({ key, ofGroup }) => (
        <td key={key} class="number">
          {ofGroup?.(group.bytes)}
        </td>
      ))}
    </tr>
  );
}

function Row<T extends Placed>({ item, columns, onChoose, detail }: Props<T> & { item: T }): JSX.Element {
  const below = detail?.(item);
  return (
    <>
      <tr class={selection.value?.names.includes(item.name) ? "chosen" : ""} onClick={({ target }) => !(target as Element).closest("button, a") && onChoose(item)}>
        {columns.map(({ key, number, look, text, cell }, at) =>
          at === 0 ? (
            <th key={key} scope="row" class={look}>
              {cell ? cell(item) : text(item)}
            </th>
          ) : (
            <td key={key} class={`${number ? "number" : ""} ${look ?? ""}`}>
              {cell ? cell(item) : text(item)}
            </td>
          ),
        )}
      </tr>
      {below && (
        <tr class="detail-row">
          <td colSpan={columns.length}>{below}</td>
        </tr>
      )}
    </>
  );
}

function narrowed<T>(items: readonly T[], columns: readonly ListColumn<T>[], filter: string | undefined): readonly T[] {
  const words = filter?.toLowerCase().split(/\s+/).filter(Boolean) ?? [];
  if (words.length === 0) return items;
  return items.filter((item) => {
    const text = columns.map((column) => column.text(item)).join(" ").toLowerCase();
    return words.every((one) => text.includes(one));
  });
}

function sorted<T>(items: readonly T[], columns: readonly ListColumn<T>[], { key, down }: Sorting): readonly T[] {
  const by = columns.find((column) => column.key === key);
  if (!by) return items;
  const sign = down ? -1 : 1;
  const { order } = by;
  if (order) return items.toSorted((a, b) => sign * (order(a) - order(b)));
  const collator = new Intl.Collator("en", { numeric: true });
  return items.toSorted((a, b) => sign * collator.compare(by.text(a), by.text(b)));
}

/** A share of a total in percent, and a bar beside the largest. */
export function Share({ of, total, most }: { of: number; total: number; most: number }): JSX.Element {
  const share = total > 0 ? of / total : 0;
  return (
    <span class="share">
      <span class="share-bar" aria-hidden="true" style={{ width: `${(Math.min(1, of / Math.max(1, most)) * 48).toFixed(1)}px` }} />
      {(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)}%
    </span>
  );
}
