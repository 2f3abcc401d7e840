// "Backends": the script under eager, aot_eager and inductor, and the first that prints something else.
import type { JSX } from "preact";
import { formatBytes } from "../report/format";
import { type Difference, firstDifference, firstThatDiffers, otherDifferences, type Rung } from "../report/ladder";
import { climb, LADDER, ladder, stopClimbing } from "../state/ladder";
import { program } from "../state/script";
import { Columns, number } from "../ui/columns";
import "./compare.css";

/** Characters of one printed line that are shown. */
const MOST = 200;

export function BackendLadder(): JSX.Element {
  const now = ladder.value;
  const rungs = now?.rungs ?? [];
  return (
    <section class="ladder" aria-label="Backends">
      <h3>Backends</h3>
      <p class="muted">The script under one backend after the other: what it prints, what is saved for backward, and where graphs break. A backend that the script names itself is not changed.</p>
      <p>
        {now?.now ? (
          <button type="button" class="button" onClick={stopClimbing}>
            Stop
          </button>
        ) : (
          <button type="button" class="button" onClick={climb}>
            Run under {LADDER.join(", ")}
          </button>
        )}{" "}
        <span role="status">{now?.now && `Running under ${now.now}…`}</span>
      </p>
      {now && now.program !== program() && <p class="note">The script has changed since.</p>}
      {rungs.length > 0 && <Rungs rungs={rungs} />}
      {rungs.length === LADDER.length && <Verdict rungs={rungs} />}
    </section>
  );
}

function Rungs({ rungs }: { rungs: readonly Rung[] }): JSX.Element {
  const [reference] = rungs;
  return (
    <div class="ladder-table" tabIndex={0} role="region" aria-label="Backends, in a table">
      <table class="table">
        <Columns titles={["Backend", "Prints", number("Saved", "Bytes of the values that all graphs save for backward, as they are listed"), number("Graphs"), number("Graph breaks")]} />
        <tbody>
          {rungs.map((rung) => (
            <tr key={rung.backend} data-backend={rung.backend}>
              <th scope="row" class="code">
                {rung.backend}
              </th>
              <td>{rung === reference ? (rung.ended ?? `${rung.lines.length === 1 && rung.lines[0] === "" ? "nothing" : "the reference"}`) : printed(reference, rung)}</td>
              <td class="number">{rung.saved === undefined ? <span class="muted">no AOTAutograd</span> : formatBytes(rung.saved)}</td>
              <td class="number">{rung.graphs}</td>
              <td class="number">{rung.breaks}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function printed(reference: Rung | undefined, { lines, ended }: Rung): string {
  if (ended) return ended;
  if (!reference || reference.ended) return "not compared";
  const difference = firstDifference(reference.lines, lines);
  return difference ? `differs from line ${difference.line} on` : "the same";
}

function Verdict({ rungs }: { rungs: readonly Rung[] }): JSX.Element {
  const first = firstThatDiffers(rungs);
  const whole = rungs.every(({ ended }) => !ended);
  return (
    <div role="status" class="ladder-verdict" data-differs={first?.backend}>
      {first ? <FirstLine backend={first.backend} reference={rungs[0]?.backend ?? ""} difference={first.difference} /> : <p>{whole ? "All print the same." : "What ran to its end prints the same."}</p>}
      {otherDifferences(rungs).map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </div>
  );
}

function FirstLine({ backend, reference, difference: { line, first, second } }: { backend: string; reference: string; difference: Difference }): JSX.Element {
  const text = (of: string | undefined): JSX.Element => (of === undefined ? <span class="muted">no such line</span> : <code>{of.length > MOST ? `${of.slice(0, MOST)}…` : of}</code>);
  return (
    <>
      <p>
        <b>{backend}</b> is the first that prints something else, in line {line} of the output:
      </p>
      <dl class="ladder-lines">
        <dt>{reference}</dt>
        <dd>{text(first)}</dd>
        <dt>{backend}</dt>
        <dd>{text(second)}</dd>
      </dl>
    </>
  );
}
