// How the decision of the log compares with the partitioner's here: above what explains it.
import type { JSX } from "preact";
import type { LogCompilation } from "../../generated/report";
import { enteredSizes, enterSize, ofSelected } from "../../state/logs";
import { still } from "../../state/still";
import "./log.css";

/** Symbols that have a field. */
const MOST_SYMBOLS = 12;

export function DecidedView(): JSX.Element | null {
  const of = ofSelected()?.compilation;
  if (!of) return null;
  return (
    <>
      {!still && <Sizes symbols={of.symbols ?? []} />}
      {of.kind === "joint" && <Compared of={of} />}
    </>
  );
}

/** Sizes that bytes, memory and partition are of: what the log says, or what the visitor enters. */
function Sizes({ symbols }: { symbols: NonNullable<LogCompilation["symbols"]> }): JSX.Element | null {
  if (symbols.length === 0) return null;
  const other = enteredSizes.value;
  return (
    <div class="run-controls log-sizes" role="group" aria-label="Sizes">
      {symbols.slice(0, MOST_SYMBOLS).map(([name, hint]) => (
        <label key={name} class="field">
          <span class="code">{name}</span>
          <input
            class="input"
            type="number"
            min="0"
            max="1000000000"
            placeholder={hint === null ? "not logged" : String(hint)}
            value={other[name] ?? ""}
            onChange={({ currentTarget: { value } }) => enterSize(name, /^\d{1,9}$/.test(value) ? Number(value) : undefined)}
          />
        </label>
      ))}
      {symbols.length > MOST_SYMBOLS && <span class="muted">and {symbols.length - MOST_SYMBOLS} more symbols</span>}
      <span class="muted">{Object.keys(other).length > 0 ? "At the sizes that you entered; an empty field is what the log says." : "Sizes that the log's symbols stood for; enter others to see bytes and decisions at those."}</span>
    </div>
  );
}

function Compared({ of }: { of: LogCompilation }): JSX.Element {
  const { comparison } = of;
  if (!comparison) {
    return <p class="note">The log has no joint graph of it: what is saved is known, but not which rule saves it.</p>;
  }
  const { same, partitioner, assumed, differences } = comparison;
  return (
    <div class="note logged" data-same={String(same)}>
      <p>
        {same === true && (
          <>
            The log's decision: <code>{partitioner}</code> here decides the same on the logged joint graph.
          </>
        )}
        {same === false && <>The log decides otherwise than the partitioner here, whose reasons and figures these are: {differences.join("; ")}.</>}
        {same === null && (
          <>
            {partitioner ? "The log has no forward or backward to compare with: this is the partitioner's decision here." : `There is no decision here: ${differences.join("; ")}.`}
          </>
        )}
      </p>
      {assumed.length > 0 && (
        <ul>
          {assumed.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
    </div>
  );
}
