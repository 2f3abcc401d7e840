// How the decision of the log compares with the partitioner's here: above what explains it.
import type { JSX } from "preact";
import { ofSelected } from "../../state/logs";

export function DecidedView(): JSX.Element | null {
  const of = ofSelected()?.compilation;
  if (!of || of.kind === "inference") return null;
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
