// The kept list of operators: signatures, and what the columns after them say.

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

/** Signatures by what graphs call: `aten.sin.default`. */
export function byTarget(text: string): ReadonlyMap<string, string> {
  return new Map(
    parse(text).map(({ signature }) => {
      const name = signature.slice(0, signature.indexOf("("));
      return [name.split(".").length === 2 ? `${name}.default` : name, signature];
    }),
  );
}
