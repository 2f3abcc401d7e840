// The headings of a table.
import type { JSX } from "preact";

interface Column {
  title: string;
  /** Set to the right, as the numbers below it are. */
  number?: boolean;
  /** Said where the pointer rests. */
  help?: string | undefined;
  /** For those who hear the page: what is below speaks for itself. */
  hidden?: boolean;
}

/** The heading of a column of numbers. */
export const number = (title: string, help?: string): Column => ({ title, number: true, help });

/** One row of headings; an empty one stands over headings of rows. */
export function Columns({ titles }: { titles: readonly (Column | string | false)[] }): JSX.Element {
  return (
    <thead>
      <tr>
        {titles
          .filter((title) => title !== false)
          .map((title, at) => {
            const column = typeof title === "string" ? { title } : title;
            if (column.title === "") return <td key={at} />;
            return (
              <th key={at} scope="col" class={column.number ? "number" : undefined} title={column.help}>
                {column.hidden ? <span class="visually-hidden">{column.title}</span> : column.title}
              </th>
            );
          })}
      </tr>
    </thead>
  );
}
