// A log: what was read of it, what else it says of the selected compilation, what was not understood.
import type { JSX } from "preact";
import type { LogArtifact, LogCompilation, LogFrame, LogOverview } from "../../generated/report";
import { formatBytes, plural } from "../../report/format";
import { graphsOf } from "../../state/files";
import { ofSelected, unreadable } from "../../state/logs";
import { graphsRun } from "../../state/session";
import { still } from "../../state/still";
import { selectedUnit } from "../../state/unit";
import { CodeView } from "../../ui/code-view";
import { Columns, number } from "../../ui/columns";
import { useSignal } from "@preact/signals";
import "./log.css";

/** Rows of one table at most. */
const MOST_ROWS = 200;

export function LogView(): JSX.Element | null {
  const log = graphsRun.value?.log;
  if (!log) return null;
  const of = ofSelected();
  return (
    <div class="scroll log" tabIndex={0} role="region" aria-label="Log">
      <Head name={log.name} overview={log.overview} />
      {unreadable.value && <p class="note error">{unreadable.value}</p>}
      {selectedUnit.value && (
        <>
          <h2>
            <bdi>{selectedUnit.value.title}</bdi>
          </h2>
          {of?.compilation && <OfCompilation of={of.compilation} />}
          {of?.region && <OfFrame frame={of.region.frame} />}
          {!of?.compilation && !of?.region && !selectedUnit.value.tape && <p class="empty">{still ? "This file does not hold it: the log was too large." : "Reading…"}</p>}
        </>
      )}
      {log.overview.printed_calls && <Text name="Calls that DebugMode printed" text={log.overview.printed_calls} />}
      <Unknown overview={log.overview} />
    </div>
  );
}

function Head({ name, overview }: { name: string; overview: LogOverview }): JSX.Element {
  const { forms, pytorch, files, bytes, compilations, frames } = overview;
  const graphs = graphsOf(overview);
  return (
    <p class="log-head">
      <b>
        <bdi>{name}</bdi>
      </b>
      : {forms.join(", ")} of {pytorch ? `PyTorch ${pytorch}` : "a PyTorch whose version it does not name"}. {plural(compilations.length, "compilation")}, {plural(graphs, "graph")},{" "}
      {plural(frames.length, "attempt")} of Dynamo, in {plural(files.length, "file")} of {formatBytes(bytes)}.{!still && " Read in this page: nothing is uploaded."}
    </p>
  );
}

function OfCompilation({ of }: { of: LogCompilation }): JSX.Element {
  const { problems, stages, artifacts, runtime_wrappers, settings } = of;
  return (
    <>
      <Problems problems={problems} />
      {stages?.map(({ name, readable }, at) => <Text key={`${at} ${name}`} name={name} text={readable} />)}
      {runtime_wrappers && <Text name="Runtime wrappers" text={runtime_wrappers} />}
      {settings && <Text name="torch._functorch.config" text={JSON.stringify(settings, undefined, 2)} />}
      <Artifacts artifacts={artifacts} />
    </>
  );
}

function OfFrame({ frame }: { frame: LogFrame }): JSX.Element {
  const { problems, symbols = [], conditions = [], breaks = [], cache = [], failure, artifacts, line } = frame;
  return (
    <>
      {line && (
        <p class="muted code">
          {line.file}:{line.line}
        </p>
      )}
      {failure && (
        <p class="note error">
          {failure[0]}: {failure[1]}
        </p>
      )}
      <Problems problems={problems} />
      {symbols.length > 0 && (
        <table class="table">
          <caption>Symbols</caption>
          <Columns titles={["Symbol", number("Stood for"), "Range", "Source", "Made by"]} />
          <tbody>
            {symbols.slice(0, MOST_ROWS).map((symbol, at) => (
              <tr key={at}>
                <th scope="row" class="code">
                  {symbol.name}
                </th>
                <td class="number">{symbol.hint}</td>
                <td class="code">{symbol.range}</td>
                <td class="code">{symbol.source}</td>
                <td class="code wrap">{symbol.line && `${symbol.line.file}:${symbol.line.line} ${symbol.line.code}`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {conditions.length > 0 && (
        <table class="table">
          <caption>Conditions on symbols</caption>
          <Columns titles={["Condition", "Made by"]} />
          <tbody>
            {conditions.slice(0, MOST_ROWS).map(({ condition, line: by }, at) => (
              <tr key={at}>
                <th scope="row" class="code">
                  {condition}
                </th>
                <td class="code wrap">{by && `${by.file}:${by.line} ${by.code}`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {breaks.map(({ reason, text }, at) => (
        <Text key={at} name={`Graph break: ${reason}`} text={text} />
      ))}
      {cache.some(([, count]) => count > 0) && <p class="caption">Caches: {cache.filter(([, count]) => count > 0).map(([name, count]) => `${name} ${count}`).join(", ")}</p>}
      <Artifacts artifacts={artifacts} />
    </>
  );
}

function Problems({ problems }: { problems: readonly string[] | undefined }): JSX.Element | null {
  if (!problems?.length) return null;
  return (
    <div class="note error">
      {problems.map((problem) => (
        <p key={problem}>{problem}</p>
      ))}
    </div>
  );
}

function Artifacts({ artifacts }: { artifacts: readonly LogArtifact[] | undefined }): JSX.Element {
  return <>{artifacts?.map(({ name, text }, at) => <Text key={`${at} ${name}`} name={name} text={text} />)}</>;
}

/** A text as it was logged, once it is asked for. */
function Text({ name, text }: { name: string; text: string }): JSX.Element {
  const open = useSignal(false);
  return (
    <details class="log-text" onToggle={({ currentTarget }) => (open.value = currentTarget.open)}>
      <summary>
        <span class="code">{name}</span> <span class="muted">{plural(text.split("\n").length, "line")}</span>
      </summary>
      {open.value && <CodeView class="log-code" text={text} label={name} numbered />}
    </details>
  );
}

function Unknown({ overview: { unknown } }: { overview: LogOverview }): JSX.Element | null {
  if (unknown.length === 0) return null;
  return (
    <table class="table">
      <caption>Not understood</caption>
      <Columns titles={["Kind", number("Times"), "First at"]} />
      <tbody>
        {unknown.slice(0, MOST_ROWS).map(({ kind, count, file, line }) => (
          <tr key={kind}>
            <th scope="row" class="code">
              {kind}
            </th>
            <td class="number">{count}</td>
            <td class="code wrap">
              {file}:{line}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
