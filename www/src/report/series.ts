// Numbers that a script prints again and again, as series: lines that differ in nothing but their numbers belong together,
// whatever the words are. `step 10 loss 0.5`, `epoch 1/9: loss=2.5 acc=91%` and a bare `0.25` are all found.

export interface Column {
  /** The words before the number. */
  label: string;
  values: readonly number[];
}

export interface Series {
  /** What the lines have in common, with `…` for numbers. */
  title: string;
  /** What counts the lines up, where one of the numbers does; else their order counts. */
  x: Column;
  columns: readonly Column[];
}

/** Lines of one shape that there must be before they are taken for a series. */
const LEAST_LINES = 3;
/** Numbers of a line beyond these are left out: what prints a whole tensor is no series. */
const MOST_COLUMNS = 12;

const NUMBER = /(?<![\w.])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf)(?![\w.]*\w)/gi;
const COUNTERS = /^(?:step|epoch|iter(?:ation)?|it|i|t|batch|update|round|time)s?$/i;

interface Group {
  labels: string[];
  rows: number[][];
}

/** The series in a text, those with most lines first. */
export function findSeries(text: string): Series[] {
  const groups = new Map<string, Group>();
  for (const line of text.split("\n")) {
    const numbers = [...line.matchAll(NUMBER)];
    if (numbers.length === 0 || numbers.length > MOST_COLUMNS) continue;
    const words = wordsBetween(line, numbers);
    const shape = words.map((part) => part.replace(/\s+/g, " ")).join("…").trim();
    const group = groups.get(shape) ?? { labels: words.slice(0, -1), rows: [] };
    group.rows.push(numbers.map(([number]) => read(number)));
    groups.set(shape, group);
  }
  return [...groups.entries()]
    .filter(([, { rows }]) => rows.length >= LEAST_LINES)
    .sort(([, a], [, b]) => b.rows.length - a.rows.length)
    .flatMap(([shape, group]) => series(shape, group) ?? []);
}

function wordsBetween(line: string, numbers: readonly RegExpMatchArray[]): string[] {
  const words: string[] = [];
  let at = 0;
  for (const match of numbers) {
    words.push(line.slice(at, match.index));
    at = (match.index ?? 0) + match[0].length;
  }
  return [...words, line.slice(at)];
}

function read(text: string): number {
  const plain = text.toLowerCase();
  if (plain.endsWith("nan")) return Number.NaN;
  if (plain.endsWith("inf")) return plain.startsWith("-") ? -Infinity : Infinity;
  return Number(text);
}

function series(shape: string, { labels, rows }: Group): Series | undefined {
  const columns = labels.map((words, index) => ({ label: label(words, index), values: rows.map((row) => row[index] ?? Number.NaN) }));
  // Numbers that never change say nothing: the 9 of `epoch 1/9`.
  const changing = columns.filter(({ values }) => values.some((value) => value !== values[0] && !(Number.isNaN(value) && Number.isNaN(values[0]))));
  const counter = changing.find(({ label, values }, index) => (index === 0 || COUNTERS.test(label)) && counts(values));
  const rest = changing.filter((column) => column !== counter);
  if (rest.length === 0) return undefined;
  const order = { label: "line", values: rows.map((_, index) => index) };
  return { title: shape, x: counter ?? order, columns: distinct(rest) };
}

/** Whether values are whole and rise: those of a counter. */
function counts(values: readonly number[]): boolean {
  return values.every((value, index) => Number.isInteger(value) && (index === 0 || value > (values[index - 1] ?? 0)));
}

/** The last words before a number, without what joins them to it. */
function label(words: string, index: number): string {
  const found = words.replace(/[=:([{,;|/\-\s]+$/, "").split(/[,;|()[\]{}]|\s{2,}/).at(-1)?.trim().replace(/^[%/:\s]+/, "");
  return found ? found.slice(-40) : `number ${index + 1}`;
}

function distinct(columns: readonly Column[]): Column[] {
  const seen = new Map<string, number>();
  return columns.map((column) => {
    const count = (seen.get(column.label) ?? 0) + 1;
    seen.set(column.label, count);
    return count === 1 ? column : { ...column, label: `${column.label} (${count})` };
  });
}
