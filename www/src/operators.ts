// The page of operators: the kept list's table, and a field that filters it.
import list from "../../docs/operators.md?raw";
import "./styles/base.css";
import "./styles/operators.css";

/** An operator: its signature and what the columns after it say. */
export type Operator = { signature: string; cells: string[] };

/** The rows of the table in the Markdown text. */
export function parse(text: string): Operator[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => {
      const [signature = "", ...cells] = line.slice(1, -1).split("|").map((cell) => cell.trim());
      return { signature: signature.replaceAll("`", ""), cells };
    });
}

/** Whether an operator has every word in its signature. */
export function matches(operator: Operator, words: string): boolean {
  const signature = operator.signature.toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => signature.includes(word));
}

function row(operator: Operator): HTMLTableRowElement {
  const line = document.createElement("tr");
  const code = document.createElement("code");
  code.textContent = operator.signature;
  line.insertCell().append(code);
  for (const cell of operator.cells) line.insertCell().textContent = cell;
  return line;
}

/** Fills the page. */
export function show(text: string): void {
  const find = document.querySelector<HTMLInputElement>("#find");
  const rows = document.querySelector("#rows");
  const count = document.querySelector("#count");
  if (!find || !rows || !count) return;
  const operators = parse(text).map((operator) => ({ operator, line: row(operator) }));
  const filter = () => {
    const found = operators.filter(({ operator }) => matches(operator, find.value));
    rows.replaceChildren(...found.map(({ line }) => line));
    count.textContent = `${found.length} of ${operators.length}`;
  };
  find.addEventListener("input", filter);
  filter();
}

show(list);
