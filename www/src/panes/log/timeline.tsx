// What Dynamo did, in the log's order: attempts, why frames were compiled again, how long each part took.
import type { JSX } from "preact";
import type { LogFrame, LogOverview } from "../../generated/report";
import { formatSeconds, plural } from "../../report/format";
import { frameName } from "../../state/logs";
import { showPane } from "../../state/layout";
import { graphsRun } from "../../state/session";
import { wantedUnit } from "../../state/unit";
import { Columns, number } from "../../ui/columns";
import "./log.css";

/** Attempts that are listed at most: the first and the last. */
const MOST_ROWS = 400;

export function TimelineView(): JSX.Element | null {
  const overview = graphsRun.value?.log?.overview;
  if (!overview) return null;
  const { frames } = overview;
  if (frames.length === 0) return <p class="empty">The log says nothing of what Dynamo did.</p>;
  const between = Math.max(0, frames.length - MOST_ROWS);
  const half = between > 0 ? MOST_ROWS / 2 : frames.length;
  const rows = (from: number, to: number): JSX.Element[] => frames.slice(from, to).map((frame, at) => <Row key={from + at} frame={frame} at={from + at} overview={overview} />);
  return (
    <div class="scroll log" tabIndex={0} role="region" aria-label="Timeline">
      <table class="table">
        <caption>
          {plural(frames.length, "attempt")} of Dynamo <span class="muted">seconds as PyTorch counts them</span>
        </caption>
        <Columns titles={["Compile id", "What happened", number("Dynamo"), number("AOTAutograd"), number("Inductor"), number("Backward")]} />
        <tbody>
          {rows(0, half)}
          {between > 0 && (
            <tr>
              <td class="muted" colSpan={6}>
                and {between} more
              </td>
            </tr>
          )}
          {between > 0 && rows(half + between, frames.length)}
        </tbody>
      </table>
    </div>
  );
}

function Row({ frame, at, overview }: { frame: LogFrame; at: number; overview: LogOverview }): JSX.Element {
  const { seconds, recompiles = [], breaks = [], failure, cache = [] } = frame;
  const met = cache.filter(([, count]) => count > 0);
  const region = overview.regions.indexOf(at);
  const compilation = region < 0 ? -1 : overview.compilations.findIndex((of) => of.region === region);
  const key = compilation >= 0 ? `c${compilation}` : region >= 0 ? `r${region}` : undefined;
  const name = frameName(overview, at) || "a frame without a compile id";
  const show = (): void => {
    wantedUnit.value = key;
    showPane("graphs");
  };
  const time = (value: number | null): string => (value === null ? "" : formatSeconds(value));
  return (
    <tr>
      <th scope="row">
        {key ? (
          <button type="button" class="link code" onClick={show}>
            <bdi>{name}</bdi>
          </button>
        ) : (
          <bdi class="code">{name}</bdi>
        )}
      </th>
      <td class="wrap">
        {compilation >= 0 ? "compiled" : region >= 0 ? "captured" : "no graph"}
        {recompiles.map((reasons, index) => (
          <p key={index} class="code reason">
            recompiled: {reasons.join("; ")}
          </p>
        ))}
        {breaks.map(({ reason, span, file }, index) => (
          <p key={index}>
            graph break{span && ` at ${file}:${span.line}`}: {reason}
          </p>
        ))}
        {failure && (
          <p class="error">
            {failure[0]}: {failure[1].split("\n")[0]}
          </p>
        )}
        {met.length > 0 && <p class="muted">{met.map(([what, count]) => `${what} ${count}`).join(", ")}</p>}
      </td>
      <td class="number">{time(seconds.dynamo)}</td>
      <td class="number">{time(seconds.aot_autograd)}</td>
      <td class="number">{time(seconds.inductor)}</td>
      <td class="number">{time(seconds.backward)}</td>
    </tr>
  );
}
