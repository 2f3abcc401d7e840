// What the compiled function does to the caller's tensors: inputs it writes to, outputs that share memory, what the runtime
// does around the graphs; and the sequence numbers that tie backward nodes to forward ones.
import { pythonLanguage } from "@codemirror/lang-python";
import type { JSX } from "preact";
import type { Compilation, Span } from "../../generated/report";
import { labels } from "../../report/labels";
import { placeInWords, shortPlace } from "../../report/place";
import type { Unit } from "../../report/stages";
import { openExport } from "../../state/dialogs";
import { select, selection } from "../../state/selection";
import { ofSelected } from "../../state/logs";
import { graphsAreOld, graphsRun } from "../../state/session";
import { still } from "../../state/still";
import { selectedUnit, wantedStage } from "../../state/unit";
import { CodeView } from "../../ui/code-view";
import { Columns, number } from "../../ui/columns";
import { whyNoTrace } from "../../state/unit";
import "./aliasing.css";

const PYTHON = pythonLanguage;

export function AliasingView(): JSX.Element {
  const unit = selectedUnit.value;
  const compilation = unit?.compilation;
  if (!unit || !compilation?.metadata) return <p class="empty">{whyNoTrace.value ?? "What a compiled function does to its inputs, and what its outputs alias, appears here."}</p>;
  return (
    <div class="scroll aliasing" tabIndex={0} role="region" aria-label="Mutation and aliasing">
      {graphsAreOld.value && <p class="stale">From the run before: the script failed before it compiled anything.</p>}
      <Inputs unit={unit} inputs={compilation.metadata.input_info} />
      <Outputs outputs={compilation.metadata.output_info} />
      {graphsRun.value?.log ? (
        <Runtime title="Around the graph, as logged" text={ofSelected()?.compilation?.runtime_wrappers ?? ""} nothing="The log does not say what the runtime does around the graph." />
      ) : (
        <>
          <Runtime title="Before the graph" text={compilation.prologue} nothing="The runtime hands the inputs to the graph as they are." />
          <Runtime title="After the graph" text={compilation.epilogue} nothing="The runtime returns the graph's outputs as they are." />
        </>
      )}
      <SequenceNumbers compilation={compilation} />
    </div>
  );
}

/** A name that chooses a value everywhere. */
function Choice({ name, span }: { name: string; span: Span | null | undefined }): JSX.Element {
  return (
    <button
      type="button"
      class="link code"
      aria-pressed={selection.value?.names.includes(name) ?? false}
      onClick={() => select({ from: "aliasing", span: span ?? undefined, names: [name] })}
    >
      {name}
    </button>
  );
}

/** Lines that do something, each once: choosing one shows it. */
function Lines({ spans }: { spans: readonly Span[] }): JSX.Element {
  const first = spans.filter((span, index) => spans.findIndex(({ line, file }) => line === span.line && file === span.file) === index);
  return (
    <>
      {first.map((span) => (
        <button
          key={shortPlace(span)}
          type="button"
          class="link code line"
          aria-label={placeInWords(span).replace(/^line/, "Line")}
          onClick={() => select({ from: "aliasing", span, names: [] })}
        >
          {shortPlace(span)}
        </button>
      ))}
    </>
  );
}

type Metadata = NonNullable<Compilation["metadata"]>;

function Inputs({ unit, inputs }: { unit: Unit; inputs: Metadata["input_info"] }): JSX.Element {
  const known = labels(unit);
  const changed = inputs.filter(({ mutation_type }) => mutation_type !== "NOT_MUTATED");
  const quiet = inputs.filter(({ mutation_type }) => mutation_type === "NOT_MUTATED");
  return (
    <>
      <table class="table">
        <caption>Inputs that change</caption>
        {changed.length > 0 && (
          <Columns titles={["Input", "Lines", "PyTorch's class", "What happens"]} />
        )}
        <tbody>
          {changed.map(({ name, words, written_at, mutation_type, requires_grad }) => (
            <tr key={name}>
              <th scope="row">
                <Choice name={name} span={written_at[0]} />
                <span class="muted code"> {known.get(name)}</span>
                {requires_grad && <span class="faint"> requires grad</span>}
              </th>
              <td>
                <Lines spans={written_at} />
              </td>
              <td class="code">{mutation_type}</td>
              <td class="why">{words}</td>
            </tr>
          ))}
          {changed.length === 0 && (
            <tr>
              <td class="muted">None: the function only reads its inputs.</td>
            </tr>
          )}
        </tbody>
      </table>
      {changed.length > 0 && quiet.length > 0 && (
        <p class="caption">
          Only read: <span class="code">{quiet.map(({ name }) => known.get(name) ?? name).join(", ")}</span>
        </p>
      )}
    </>
  );
}

function Outputs({ outputs }: { outputs: Metadata["output_info"] }): JSX.Element {
  return (
    <table class="table">
      <caption>Outputs</caption>
      <Columns titles={[number("#"), "Output", "Line", "PyTorch's class", "What it is"]} />
      <tbody>
        {outputs.map(({ name, output_type, words, span }, index) => (
          <tr key={index}>
            <td class="number">{index}</td>
            <th scope="row">{name === null ? <span class="code">None</span> : <Choice name={name} span={span} />}</th>
            <td>{span && <Lines spans={[span]} />}</td>
            <td class="code">{output_type}</td>
            <td class="why">{words}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What the runtime does around the graphs, as the code that it stands for. */
function Runtime({ title, text, nothing }: { title: string; text: string; nothing: string }): JSX.Element {
  return (
    <section class="runtime">
      <h2>{title}</h2>
      {text.trim() === "" ? <p class="muted">{nothing}</p> : <CodeView class="runtime-code" text={text.trimEnd()} label={title} language={PYTHON} />}
    </section>
  );
}

function SequenceNumbers({ compilation: { seq_nr, joint, inference } }: { compilation: Compilation }): JSX.Element | null {
  if (seq_nr.length === 0) return null;
  const nodes = new Map((joint ?? inference)?.nodes.map((node) => [node.name, node]));
  const first = seq_nr.reduce((least, [number]) => (number === null ? least : Math.min(least, number)), Infinity);
  const exported = (format: string): void => {
    wantedStage.value = joint ? "joint" : "inference";
    openExport(format);
  };
  return (
    <>
      <table class="table">
        <caption>
          Sequence numbers <span class="muted">count up from the region's first call; a backward node has its forward node's</span>
        </caption>
        <Columns titles={[number("SeqNr"), "OrigAten", { title: "SrcFn", help: "What the script called; of a backward node, its forward node's" }, "Node", number("Line"), "Direction"]} />
        <tbody>
          {seq_nr.map(([number, target, name], index) => {
            const node = nodes.get(name);
            const backward = node?.is_backward ?? false;
            return (
              <tr key={index} class={selection.value?.names.includes(name) ? "chosen" : ""}>
                <td class="number">{number !== null && number - first}</td>
                <td class="code">{target}</td>
                <td class="code">{node?.source_fn}</td>
                <th scope="row">
                  <Choice name={name} span={node?.span} />
                </th>
                <td class="number">{node?.span && shortPlace(node.span)}</td>
                <td class={backward ? "legend-backward" : "legend-forward"}>{backward ? "backward" : "forward"}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {!still && (
        <p class="caption">
          The graph that they number, drawn:{" "}
          <button type="button" class="link" onClick={() => exported("dot")}>
            Graphviz
          </button>
          ,{" "}
          <button type="button" class="link" onClick={() => exported("svg")}>
            SVG
          </button>
        </p>
      )}
    </>
  );
}
