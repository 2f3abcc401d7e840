// Exports of the graph that is shown, and of the whole run: seen before they are copied or downloaded.
import { useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import type { Bundle } from "../generated/report";
import { STAGE_TITLES, type Stage, type Unit } from "../report/stages";
import { exportFormat } from "../state/dialogs";
import { traceOf } from "../state/logs";
import { graphsRun } from "../state/session";
import { selectedStage, selectedUnit } from "../state/unit";
import { copy, delivered, download } from "./deliver";
import { make } from "./make";

interface Format {
  key: string;
  title: string;
  help: string;
  /** What a file's name ends with. */
  ending: string;
  type: string;
  /** Whether it is of one graph; else of the whole run. */
  graph: boolean;
}

const FORMATS: readonly Format[] = [
  { key: "python", title: "Python", help: "A file that real PyTorch runs: the graph as a module, and inputs that fit it.", ending: "py", type: "text/x-python", graph: true },
  {
    key: "logs",
    title: "PyTorch’s log",
    help: "Every graph of the run, as TORCH_LOGS=graph_code,aot_joint_graph,aot_graphs shows them.",
    ending: "log",
    type: "text/plain",
    graph: false,
  },
  {
    key: "trace",
    title: "TORCH_TRACE",
    help: "What was compiled, as TORCH_TRACE has PyTorch log it: what reads PyTorch’s logs reads it.",
    ending: "log",
    type: "text/plain",
    graph: false,
  },
  { key: "dot", title: "Graphviz", help: "The graph in the DOT language.", ending: "dot", type: "text/vnd.graphviz", graph: true },
  { key: "table", title: "Table", help: "What graph.print_tabular() prints.", ending: "txt", type: "text/plain", graph: true },
  { key: "svg", title: "SVG", help: "The picture of the graph, to scale without loss.", ending: "svg", type: "image/svg+xml", graph: true },
  { key: "png", title: "PNG", help: "The picture of the graph, in pixels.", ending: "png", type: "image/png", graph: true },
  { key: "json", title: "Report", help: "Everything known of the run, as the command line’s --json prints it.", ending: "json", type: "application/json", graph: false },
];

/** What was made, or why not. */
type Made = { text: string } | { blob: Blob; url: string } | { error: string };

/** What was made, and of what: what was chosen since may be drawn before it is made, and be made before what was chosen earlier. */
interface Product {
  format: Format;
  unit: Unit;
  stage: Stage;
  made: Made;
}

/** Formats that there are: of a log, which has a file of its own, one graph at a time. */
function offered(): readonly Format[] {
  return graphsRun.value?.log ? FORMATS.filter(({ graph }) => graph) : FORMATS;
}

function formatNamed(name: string): Format | undefined {
  return offered().find(({ key }) => key === name) ?? offered()[0];
}

export function ExportDialog(): JSX.Element {
  const product = useSignal<Product | undefined>(undefined);
  const unit = selectedUnit.value;
  const stage = selectedStage.value;
  const format = formatNamed(exportFormat.value);

  useSignalEffect(() => {
    const wanted = formatNamed(exportFormat.value);
    const [of, at] = [selectedUnit.value, selectedStage.value];
    product.value = undefined;
    delivered.value = "";
    if (!wanted || !of || !at) return;
    let left = false;
    produce(wanted, of, at)
      .catch((error: unknown): Made => ({ error: error instanceof Error ? error.message : String(error) }))
      .then((made) => {
        if (!left) product.value = { format: wanted, unit: of, stage: at, made };
      });
    return () => {
      left = true;
    };
  });

  if (!unit || !stage || !format) return <p class="empty">There is nothing to export before something was compiled.</p>;
  const last = product.value;
  const result = last?.format === format && last.unit === unit && last.stage === stage ? last.made : undefined;
  const name = fileName(format, unit, stage);
  const content = result && "text" in result ? new Blob([result.text], { type: format.type }) : result && "blob" in result ? result.blob : undefined;
  return (
    <>
      <div class="export-formats" role="radiogroup" aria-label="Format">
        {offered().map(({ key, title }) => (
          <label key={key} class="choice">
            <input type="radio" name="format" value={key} checked={key === format.key} onChange={() => (exportFormat.value = key)} />
            <span>{title}</span>
          </label>
        ))}
      </div>
      <p>
        {format.help} {format.graph && <span class="muted">This one: {STAGE_TITLES[stage]}, {unit.title}.</span>}
      </p>
      {result && "error" in result && <p class="note error">This could not be made: {result.error}</p>}
      {result && "text" in result && (
        <pre class="preview-text" tabIndex={0} aria-label={`${format.title}, as text`}>
          {result.text.length > MOST_SHOWN ? `${result.text.slice(0, MOST_SHOWN)}\n…` : result.text}
        </pre>
      )}
      {result && "url" in result && <img class="preview-image" src={result.url} alt={`The ${STAGE_TITLES[stage]} graph`} />}
      {!result && <p class="preview-text muted">Making it…</p>}
      <div class="export-actions">
        <span role="status">{delivered.value}</span>
        <button type="button" class="button" disabled={!result || !("text" in result)} onClick={() => result && "text" in result && void copy(result.text, format.title)}>
          Copy
        </button>
        <button type="button" class="button primary" disabled={!content} onClick={() => content && download(content, name)}>
          Download {name}
        </button>
      </div>
    </>
  );
}

/** Characters of a text that are shown; all of them are copied. */
const MOST_SHOWN = 20_000;

async function produce(format: Format, unit: Unit, stage: Stage): Promise<Made> {
  const run = graphsRun.peek();
  const graph = unit.stages[stage];
  if (!run || !graph) return { error: "there is no such graph" };
  switch (format.key) {
    case "json":
      return { text: `${JSON.stringify(run.report)}\n` };
    case "trace":
      return { text: await traceOf(run.report) };
    case "logs":
      return { text: await make({ type: "logs", report: run.report }) };
    case "svg":
    case "png": {
      const { drawSvg, toPng } = await import("./drawing");
      const svg = await drawSvg(unit, stage);
      const blob = format.key === "svg" ? new Blob([svg], { type: format.type }) : await toPng(svg);
      return { blob, url: await asDataUrl(blob) };
    }
    case "python":
    case "dot":
    case "table": {
      const id = unit.compilation?.id;
      const bundle: Bundle | null = (id === undefined ? undefined : run.bundles.get(id)) ?? null;
      const about = `The ${stage} graph of ${unit.title}, as AOTAutograd makes it. Runs with PyTorch ${run.report.pytorch}.`;
      return { text: await make({ type: "graph", graph, format: format.key, about, bundle }) };
    }
    default:
      return { error: `there is no format ${format.key}` };
  }
}

function asDataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(new Error("the picture cannot be shown"));
    reader.readAsDataURL(blob);
  });
}

function fileName({ graph, ending, key }: Format, unit: Unit, stage: Stage): string {
  const base = graph ? `${unit.title.replace(/\W+/g, "_").replace(/_$/, "")}_${stage}` : key === "logs" ? "graphs" : key === "trace" ? "trace" : "report";
  return `${base}.${ending}`;
}
