// The guards of each graph, why frames were recompiled, which are not compiled again, and where graphs broke.
import type { JSX } from "preact";
import type { CapturedGraph, Guard, GraphBreak, Report } from "../../generated/report";
import { countsOf } from "../../report/counts";
import { plural } from "../../report/format";
import { graphsAreOld, graphsRun } from "../../state/session";
import { Columns, number } from "../../ui/columns";
import { Coded } from "../../ui/coded";
import { SentenceText } from "../../ui/sentence";
import { TermLink } from "../../ui/term";
import { Setting } from "../../ui/setting";
import { Line } from "./line";
import { TryAnotherCall } from "./another-size";
import { ValidationView } from "./validation";
import "./guards.css";

/** Rows of one table at most: a script may recompile for ever. */
const MOST_ROWS = 200;
/** Places of calls in one row. */
const MOST_PLACES = 12;

export function GuardsView(): JSX.Element {
  const report = graphsRun.value?.report;
  if (!report || (report.regions.length === 0 && report.breaks.length === 0)) {
    return <p class="empty">What torch.compile assumed of its inputs appears here: the guards of every graph, recompiles and graph breaks.</p>;
  }
  const log = graphsRun.value?.log;
  const regions = log ? report.regions.filter(({ id }) => log.regions.has(id)) : report.regions;
  return (
    <div class="scroll guards" tabIndex={0} role="region" aria-label="Guards">
      {graphsAreOld.value && <p class="stale">From the run before: the script failed before it compiled anything.</p>}
      <Misses misses={report.misses} />
      <BreakPlaces places={report.break_places} breaks={report.breaks.length} />
      <Limits limits={report.limits} />
      <Recompiles report={report} />
      {report.break_places.length === 0 && <Breaks breaks={report.breaks} />}
      {log && <p class="note">Guards are those of the graphs that were shown. What another size would do is known of a run alone: a log has guards as text.</p>}
      <TryAnotherCall regions={report.regions} calls={report.calls} />
      {regions.slice(0, MOST_ROWS).map((region) => (
        <RegionGuards key={region.id} region={region} />
      ))}
      {regions.length > MOST_ROWS && <p class="muted">And {regions.length - MOST_ROWS} more.</p>}
    </div>
  );
}

/** Frames that are not compiled any more, and the calls that ran them uncompiled. */
function Limits({ limits }: { limits: Report["limits"] }): JSX.Element | null {
  if (limits.length === 0) return null;
  return (
    <table class="table">
      <caption>Not compiled again: a limit of torch._dynamo.config was reached</caption>
      <Columns titles={["Function", "Limit", number("Uncompiled calls"), "Called at line", "Last reason"]} />
      <tbody>
        {limits.slice(0, MOST_ROWS).map(({ frame, function: name, config, limit, calls, called_at, reason }) => (
          <tr key={frame} data-uncompiled={calls}>
            <th scope="row" class="code">
              {name} [{frame}]
            </th>
            <td class="code">
              {config} = {limit}
            </td>
            <td class="number">{calls}</td>
            <td>
              {called_at.slice(0, MOST_PLACES).map((span, at) => (
                <>
                  {at > 0 && ", "}
                  <Line key={at} span={span} />
                </>
              ))}
              {called_at.length > MOST_PLACES && ` and ${called_at.length - MOST_PLACES} others`}
            </td>
            <td class="code reason">{reason}</td>
          </tr>
        ))}
        <More than={limits} />
      </tbody>
    </table>
  );
}

/** `7 recompiles, and 1 cache miss that reached the recompile limit`. */
function recompilesCaption(report: Report): string {
  const { recompiles, limits } = countsOf(report);
  const beyond = limits > 0 ? `, and ${plural(limits, "cache miss", "cache misses")} that reached the recompile limit` : "";
  return `${plural(recompiles, "recompile")}${beyond}`;
}

/** Every cache miss in PyTorch's words, on demand. */
function Recompiles({ report }: { report: Report }): JSX.Element | null {
  const { recompiles } = report;
  if (recompiles.length === 0) return null;
  return (
    <details class="raw">
      <summary>{recompilesCaption(report)}</summary>
      <table class="table">
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
    </details>
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

/** The answer on top: why frames were compiled again, the most frequent cause first, and the setting that PyTorch hints at. */
function Misses({ misses }: { misses: Report["misses"] }): JSX.Element | null {
  if (misses.length === 0) return null;
  const causes = misses.flatMap(({ id, causes }) => causes.map((cause, at) => ({ key: `${id} ${at}`, cause })));
  return (
    <section class="answers" aria-label="Why frames were compiled again">
      <h2>
        Why frames <TermLink of="recompile">recompile</TermLink>, by the <TermLink of="guard">guard</TermLink> of the newest entry
      </h2>
      <ul>
        {misses.flatMap(({ id, limit }) =>
          limit ? (
            <li key={`limit ${id}`}>
              <SentenceText of={limit} from="guards" />
            </li>
          ) : (
            []
          ),
        )}
        {causes.slice(0, MOST_ROWS).map(({ key, cause }) => (
          <li key={key}>
            <SentenceText of={cause.sentence} from="guards" />
            {cause.setting && <Setting line={cause.setting} />}
          </li>
        ))}
        {causes.length > MOST_ROWS && <li class="muted">and {causes.length - MOST_ROWS} other causes</li>}
      </ul>
    </section>
  );
}

/** Graph breaks of a log that names no places. */
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

/** Where graphs break, each place once, with what PyTorch explains and hints at. */
function BreakPlaces({ places, breaks }: { places: Report["break_places"]; breaks: number }): JSX.Element | null {
  if (places.length === 0) return null;
  const where = places.length === 1 ? "one place" : `${places.length} places`;
  return (
    <section class="answers" aria-label="Where graphs break">
      <h2>
        <TermLink of="break">{plural(breaks, "graph break")}</TermLink>, at {where}
      </h2>
      <ul>
        {places.slice(0, MOST_ROWS).map(({ id, sentence, explanation, hints, url, setting }) => (
          <li key={id}>
            <SentenceText of={sentence} from="guards" />
            {explanation && <p class="muted">
                <Coded text={explanation} />
              </p>}
            {hints.map((hint, at) => (
              <p key={at}>
                Hint: <Coded text={hint} />
              </p>
            ))}
            {url && (
              <p>
                <a href={url} target="_blank" rel="noreferrer">
                  PyTorch on graph breaks of this kind
                </a>
              </p>
            )}
            {setting && <Setting line={setting} />}
          </li>
        ))}
        {places.length > MOST_ROWS && <li class="muted">and {places.length - MOST_ROWS} other places</li>}
      </ul>
    </section>
  );
}

function RegionGuards({ region: { id, function: name, guards, span, validation } }: { region: CapturedGraph }): JSX.Element {
  const table = (
    <table class="table">
      <caption>
        <span class="code">{name}</span>{" "}
        <span class="muted">
          graph {id}
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
  return (
    <>
      {table}
      {validation && <ValidationView of={validation} />}
    </>
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
