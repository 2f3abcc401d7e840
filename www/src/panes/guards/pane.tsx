// What each compiled region may be used again for, why calls were compiled anew, and where capture had to stop.
import type { JSX } from "preact";
import type { CapturedGraph, GraphBreak, Guard, Report } from "../../generated/report";
import { plural } from "../../report/format";
import { graphsAreOld, graphsRun } from "../../state/session";
import { Columns, number } from "../../ui/columns";
import { Line } from "./line";
import { TryAnotherSize } from "./another-size";
import "./guards.css";

/** Rows of one table at most: a script may recompile for ever. */
const MOST_ROWS = 200;

export function GuardsView(): JSX.Element {
  const report = graphsRun.value?.report;
  if (!report || (report.regions.length === 0 && report.breaks.length === 0)) {
    return <p class="empty">What torch.compile assumed of its inputs appears here: the guards of every compiled region, recompiles and graph breaks.</p>;
  }
  return (
    <div class="scroll guards" tabIndex={0} role="region" aria-label="Guards">
      {graphsAreOld.value && <p class="stale">From the run before: the script failed before it compiled anything.</p>}
      <Recompiles report={report} />
      <Breaks breaks={report.breaks} />
      <TryAnotherSize regions={report.regions} />
      {report.regions.slice(0, MOST_ROWS).map((region) => (
        <RegionGuards key={region.id} region={region} />
      ))}
      {report.regions.length > MOST_ROWS && <p class="muted">And {report.regions.length - MOST_ROWS} more.</p>}
    </div>
  );
}

function Recompiles({ report: { recompiles } }: { report: Report }): JSX.Element | null {
  if (recompiles.length === 0) return null;
  return (
    <table class="table">
      <caption>{plural(recompiles.length, "recompile")}</caption>
      <Columns titles={[number("#"), "Per cache entry, newest first, the guard that failed"]} />
      <tbody>
        {recompiles.slice(0, MOST_ROWS).map((reasons, index) => (
          <tr key={index}>
            <td class="number">{index + 1}</td>
            <td>
              {reasons.map((reason, at) => (
                <p key={at} class="code reason">
                  {reason}
                </p>
              ))}
            </td>
          </tr>
        ))}
        <More than={recompiles} />
      </tbody>
    </table>
  );
}

/** The last row of a list that goes on. */
function More({ than }: { than: readonly unknown[] }): JSX.Element | null {
  if (than.length <= MOST_ROWS) return null;
  return (
    <tr>
      <td />
      <td class="muted">and {than.length - MOST_ROWS} more</td>
    </tr>
  );
}

function Breaks({ breaks }: { breaks: readonly GraphBreak[] }): JSX.Element | null {
  if (breaks.length === 0) return null;
  return (
    <table class="table">
      <caption>{plural(breaks.length, "graph break")}</caption>
      <Columns titles={[number("Line"), "Why capture stopped there"]} />
      <tbody>
        {breaks.slice(0, MOST_ROWS).map(({ reason, span }, index) => (
          <tr key={index}>
            <td class="number">
              <Line span={span} />
            </td>
            <td class="code reason">{reason}</td>
          </tr>
        ))}
        <More than={breaks} />
      </tbody>
    </table>
  );
}

function RegionGuards({ region: { id, function: name, guards, span } }: { region: CapturedGraph }): JSX.Element {
  return (
    <table class="table">
      <caption>
        <span class="code">{name}</span>{" "}
        <span class="muted">
          region {id}
          {span && (
            <>
              , line <Line span={span} />
            </>
          )}
        </span>
      </caption>
      <Columns titles={[plural(guards.length, "guard"), number("Line")]} />
      <tbody>
        {guards.map((guard, index) => (
          <GuardRow key={index} guard={guard} />
        ))}
        {guards.length === 0 && (
          <tr>
            <td class="muted">It depends on nothing.</td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

function GuardRow({ guard: { text, span } }: { guard: Guard }): JSX.Element {
  return (
    <tr>
      <td class="code reason">{text}</td>
      <td class="number">
        <Line span={span} />
      </td>
    </tr>
  );
}
