// What happened, in order, while the script ran: regions captured and why, compilations, breaks, runs. It fills as it runs.
import type { JSX } from "preact";
import { plural } from "../report/format";
import { compileIds } from "../report/stages";
import { placeInWords } from "../report/place";
import { linesOf, type Moment, type Runs, type Why } from "../report/timeline";
import { showPane } from "../state/layout";
import { select } from "../state/selection";
import { graphsRun, type Run, shown } from "../state/session";
import { wantedStage, wantedUnit } from "../state/unit";
import { LogTimeline } from "./log";

/** Moments that are listed at most: the first and the last. */
const MOST_MOMENTS = 400;
/** Lines of calls that are named at most. */
const MOST_LINES = 12;

export function TimelinePane(): JSX.Element {
  return graphsRun.value?.log ? <LogTimeline /> : <Timeline />;
}

function Timeline(): JSX.Element {
  const run = shown.value;
  if (!run) return <p class="empty">What happens while the script runs appears here.</p>;
  const { moments } = run.timeline;
  const between = Math.max(0, moments.length - MOST_MOMENTS);
  const first = moments.slice(0, MOST_MOMENTS / 2);
  const last = moments.slice(first.length + between);
  const compiled = moments.some(({ kind }) => kind !== "finished");
  return (
    <div class="scroll timeline" tabIndex={0} role="region" aria-label="Timeline">
      {!compiled && <p class="empty">Nothing was compiled.</p>}
      <ol class="moments">
        {first.map((moment, index) => (
          <Row key={index} run={run} moment={moment} />
        ))}
        {between > 0 && (
          <li class="moment">
            <span class="at" />
            <div class="muted">{plural(between, "moment")} in between</div>
          </li>
        )}
        {last.map((moment, index) => (
          <Row key={first.length + between + index} run={run} moment={moment} />
        ))}
        {run.outcome.kind === "running" && (
          <li class="moment moment-running">
            <span class="at" />
            <div>Running…</div>
          </li>
        )}
      </ol>
    </div>
  );
}

function Row({ run, moment }: { run: Run; moment: Moment }): JSX.Element {
  return (
    <li class={`moment moment-${moment.kind}`}>
      <span class="at">{formatTime(moment.at)}</span>
      <div>
        <Line run={run} moment={moment} />
      </div>
    </li>
  );
}

function formatTime(milliseconds: number): string {
  return milliseconds < 1000 ? `${milliseconds.toFixed(0)} ms` : `${(milliseconds / 1000).toFixed(2)} s`;
}

function Line({ run, moment }: { run: Run; moment: Moment }): JSX.Element {
  switch (moment.kind) {
    case "captured":
      return (
        <>
          Captured <RegionLink run={run} region={moment.region} />
          <Because why={moment.why} />
        </>
      );
    case "compiled":
      return (
        <>
          Compiled <UnitLink run={run} compilation={moment.compilation} region={moment.region} />
          {moment.backward ? ": forward and backward" : ": the forward alone, since nothing requires grad"}
        </>
      );
    case "abandoned":
      return (
        <>
          Trace of <UnitLink run={run} compilation={moment.compilation} region={moment.region} /> discarded: a dynamic float had to be specialized
          (TensorifyScalarRestartAnalysis)
        </>
      );
    case "backward":
      return (
        <>
          Compiled the backward of <UnitLink run={run} compilation={moment.compilation} region={moment.region} />
        </>
      );
    case "broke":
      return (
        <>
          Graph break{moment.line === undefined ? "" : " at "}
          {moment.line !== undefined && <LineLink line={moment.line} file={moment.file} />}
          <p class="muted">{moment.reason}</p>
        </>
      );
    case "tape":
      return (
        <>
          Compiled autograd captured <TapeLink run={run} tape={moment.tape} />
          {moment.reasons.length > 0 && (
            <ul class="guards">
              {moment.reasons.map((reason) => (
                <li key={reason}>
                  <code>{reason}</code>
                </li>
              ))}
            </ul>
          )}
        </>
      );
    case "limited":
      return (
        <>
          <code>{moment.function}</code> reached <code>torch._dynamo.config.{moment.config}</code> ({moment.limit}): it is not compiled again
          <p class="muted">
            last reason: <code>{moment.reason}</code>
          </p>
        </>
      );
    case "ran":
      return (
        <ul class="runs">
          {moment.uncompiled.map(({ frame, times, lines }) => (
            <li key={`frame ${frame}`}>
              Ran <code>{limitOf(run, frame)}</code> uncompiled {plural(times, "time")}, beyond the recompile limit
              {lines.length > 0 && ", called at "}
              {lines.slice(0, MOST_LINES).map((line, at) => (
                <>
                  {at > 0 && ", "}
                  <LineLink key={line} line={line} />
                </>
              ))}
              {lines.length > MOST_LINES && ` and ${lines.length - MOST_LINES} others`}
            </li>
          ))}
          {moment.hits.map(({ tape, times }) => (
            <li key={`tape ${tape}`}>
              Compiled autograd: <TapeLink run={run} tape={tape} /> served {plural(times, "time")} (cache hit)
            </li>
          ))}
          {moment.runs.map((runs) => (
            <li key={runs.compilation}>
              Ran <UnitLink run={run} compilation={runs.compilation} region={regionOf(run, runs.compilation)} />: {countRuns(runs)}
            </li>
          ))}
        </ul>
      );
    case "finished":
      return moment.exception ? (
        <>
          Ended in {moment.exception}
          {moment.line !== undefined && " at "}
          {moment.line !== undefined && <LineLink line={moment.line} file={moment.file} />}
        </>
      ) : (
        <>Finished</>
      );
  }
}

/** The function whose frame reached a limit. */
function limitOf(run: Run, frame: number): string {
  return run.report.limits.find((limit) => limit.frame === frame)?.function ?? `frame ${frame}`;
}

function countRuns({ forward, backward, inference }: Runs): string {
  const parts = [forward + inference > 0 && `forward ${plural(forward + inference, "time")}`, backward > 0 && `backward ${plural(backward, "time")}`];
  return parts.filter(Boolean).join(", ");
}

function Because({ why }: { why: Why }): JSX.Element {
  switch (why.kind) {
    case "first":
      return <>: its first call</>;
    case "break":
      return (
        <>
          : what follows the break
          {why.line !== undefined && " at "}
          {why.line !== undefined && <LineLink line={why.line} file={why.file} />}
        </>
      );
    case "guards":
      return (
        <>
          {" "}
          again: {plural(why.failed.length, "guard")} failed
          <ul class="guards">
            {why.failed.map((guard) => (
              <li key={guard}>
                <code>{guard}</code>
              </li>
            ))}
          </ul>
        </>
      );
  }
}

function regionOf(run: Run, compilation: number): number | null {
  return run.report.compilations.find(({ id }) => id === compilation)?.region ?? null;
}

/** Shows the graphs of a unit, and the lines they come from. */
function go(run: Run, key: string, region: number | null): void {
  wantedUnit.value = key;
  showPane("graphs");
  const lines = linesOf(run.report, region);
  select(lines && { from: "output", span: { line: lines.first, column: 0, end_line: lines.last, end_column: 0, ...(lines.file === undefined ? {} : { file: lines.file }) }, names: [] });
}

function RegionLink({ run, region }: { run: Run; region: number }): JSX.Element {
  const name = run.report.regions.find(({ id }) => id === region)?.function ?? `region ${region}`;
  const compilation = run.report.compilations.find((candidate) => candidate.region === region)?.id;
  const key = compilation === undefined ? `r${region}` : `c${compilation}`;
  return (
    <button type="button" class="link code" onClick={() => go(run, key, region)}>
      {name}
    </button>
  );
}

function TapeLink({ run, tape }: { run: Run; tape: number }): JSX.Element {
  const name = run.report.tapes.find(({ id }) => id === tape)?.name ?? "graph";
  const region = run.report.regions.find((candidate) => candidate.tape === tape)?.id ?? null;
  const compilation = run.report.compilations.find((candidate) => region !== null && candidate.region === region)?.id;
  const key = compilation !== undefined ? `c${compilation}` : region !== null ? `r${region}` : `t${tape}`;
  const show = () => {
    go(run, key, region);
    wantedStage.value = "tape";
  };
  return (
    <button type="button" class="link code" onClick={show}>
      {name}
    </button>
  );
}

function UnitLink({ run, compilation, region }: { run: Run; compilation: number; region: number | null }): JSX.Element {
  const name = run.report.regions.find(({ id }) => id === region)?.function ?? `graph ${compilation}`;
  const id = region === null ? undefined : compileIds(run.report).get(region);
  return (
    <button type="button" class="link code" onClick={() => go(run, `c${compilation}`, region)}>
      {[name, id].filter(Boolean).join(" ")}
    </button>
  );
}

function LineLink({ line, file }: { line: number; file?: string | undefined }): JSX.Element {
  const place = { line, ...(file === undefined ? {} : { file }) };
  return (
    <button type="button" class="link" onClick={() => select({ from: "output", span: { ...place, column: 0, end_line: line, end_column: 0 }, names: [] })}>
      {placeInWords(place)}
    </button>
  );
}
