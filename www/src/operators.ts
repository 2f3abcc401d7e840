// The page of operators: the kept list's table, and a field that filters it.
import list from "../../docs/operators.md?raw";
import { type Operator, parse } from "./report/signatures";
import "./styles/base.css";
import "./styles/operators.css";

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
