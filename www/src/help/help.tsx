// Help, in terms of the visitor's own program: what each stage is here, how many nodes, which lines; and the keys.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { BUILD, VERSION } from "../build";
import { PYTORCH_VERSION } from "../generated/report";
import { formatBytes, plural } from "../report/format";
import { STAGE_HELP, STAGE_TITLES, STAGES, type Stage, type Unit } from "../report/stages";
import { closeDialog, helpTerm } from "../state/dialogs";
import { GLOSSARY } from "./glossary";
import { showPane } from "../state/layout";
import { select } from "../state/selection";
import { OpenButton } from "../ui/open-button";
import { allUnits, selectedUnit, wantedStage, wantedUnit } from "../state/unit";

const KEYS: readonly (readonly [string, string])[] = [
  ["Ctrl Enter", "run the script (it also runs by itself when you pause)"],
  ["F6 / Shift F6", "go to the next pane, or the one before"],
  ["← → Home End", "walk the tabs; move a separator that has the focus"],
  ["Ctrl F", "search in the script, the output or a graph"],
  ["Arrow keys, Enter", "in the picture: follow edges, open or close a module"],
  ["+ / - / F", "in the picture: larger, smaller, all of it; / searches"],
  ["Escape, then Tab", "leave the editor by the Tab key"],
  ["Escape", "choose nothing; close what is open"],
];

/** What can be opened, and how it is made. */
const FORMS: readonly (readonly [string, string])[] = [
  ["TORCH_TRACE=folder python train.py", "the trace that bug reports ask for: a file per rank; open all of them at once, or a .zip or .gz of them"],
  ["tlparse", "its folder, with raw.jsonl or without"],
  ['TORCH_LOGS="aot_graphs,aot_joint_graph" python train.py', "what it prints, from PyTorch 2.0 on; also as people paste it: quoted, with prefixes cut, in Markdown or HTML"],
  ["TORCH_COMPILE_DEBUG=1 python train.py", "torch_compile_debug, and the files that run one graph or come from the minifier"],
];

export function Help(): JSX.Element {
  const unit = selectedUnit.value;
  return (
    <>
      <p>
        Everything runs in this page: a Python interpreter with PyTorch {PYTORCH_VERSION.replace(/\.0$/, "")}’s behaviour, and AOTAutograd’s passes. Nothing you write
        leaves it.
      </p>
      <h3>Your program, stage by stage</h3>
      {unit ? <Stages unit={unit} /> : <p class="muted">This script has compiled nothing yet. Give a function to torch.compile and call it: its stages are explained here.</p>}
      <h3>Logs, traces and graphs of PyTorch</h3>
      <p>
        What PyTorch writes elsewhere, of models of any size on any number of machines, opens here: <OpenButton onOpen={closeDialog}>Open files…</OpenButton>, or drop them
        anywhere on the page, or paste them into the script. Nothing is uploaded: they are read in this page, and kept in this browser until you close them.
      </p>
      <dl class="forms">
        {FORMS.map(([command, what]) => (
          <div key={command}>
            <dt class="code">{command}</dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p>
        An opened log is shown where a run is: graphs as text, picture and table, saved values and what saves them, memory, guards, recompiles. Where the joint graph is
        there, the partitioner here splits it under the log's settings, and its decision is compared with the logged one. <i>Compare</i> sets two compilations, logs or ranks
        beside each other. The program's script, dropped while its log is shown, is linked with the nodes. <i>Share</i> makes one HTML file that shows all of it. The command line has the same: <code>aot-playground read</code>, <code>explain</code>, <code>diff</code>.
      </p>
      <h3>Colours</h3>
      <ul class="plain">
        <li>
          <span class="legend-saved swatch">saved</span> what the forward keeps for the backward
        </li>
        <li>
          <span class="legend-recomputed swatch">recomputed</span> what the backward computes again instead
        </li>
        <li>
          <span class="legend-forward swatch">forward</span> and <span class="legend-backward swatch">backward</span> nodes, where a graph holds both
        </li>
      </ul>
      <h3>Terms</h3>
      <Terms />
      <h3>Keys</h3>
      <dl class="keys">
        {KEYS.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              {keys.split(" / ").map((key, index) => (
                <span key={key}>
                  {index > 0 && " or "}
                  <kbd>{key}</kbd>
                </span>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p>
        <a href="./operators.html">The operators that are there</a>
      </p>
      <p>
        AOT Playground {VERSION}
        {BUILD.source && (
          <>
            , <a href={BUILD.source}>its source</a>
          </>
        )}
        {BUILD.tracker && (
          <>
            , <a href={BUILD.tracker}>where differences from PyTorch are reported</a>
          </>
        )}
        .
      </p>
      <p>
        <a href="./third-party.txt">What this page is made with, and its licences</a>
      </p>
    </>
  );
}

/** The terms; one that was asked for is brought into view. */
function Terms(): JSX.Element {
  const asked = useRef<HTMLDivElement>(null);
  useEffect(() => asked.current?.scrollIntoView({ block: "center" }), []);
  return (
    <dl class="terms">
      {Object.entries(GLOSSARY).map(([key, [term, meaning]]) => (
        <div key={key} ref={key === helpTerm.value ? asked : null} class={key === helpTerm.value ? "chosen" : ""}>
          <dt>{term}</dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}

function Stages({ unit }: { unit: Unit }): JSX.Element {
  const index = allUnits.value.indexOf(unit);
  const there = STAGES.filter((stage) => unit.stages[stage]);
  return (
    <>
      <p>
        {plural(allUnits.value.length, "graph")} so far; this is about number {index + 1}, <code>{unit.title}</code>.
      </p>
      <dl class="stages">
        {there.map((stage) => (
          <div key={stage}>
            <dt>
              <button
                type="button"
                class="link"
                onClick={() => {
                  wantedUnit.value = unit.key;
                  wantedStage.value = stage;
                  showPane("graphs");
                  closeDialog();
                }}
              >
                {STAGE_TITLES[stage]}
              </button>
            </dt>
            <dd>
              {STAGE_HELP[stage]} <span class="here">{inYours(unit, stage)}</span>
              <Example unit={unit} stage={stage} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

/** What a stage is in this very program. */
function inYours(unit: Unit, stage: Stage): string {
  const { nodes } = unit.stages[stage] ?? { nodes: [] };
  const inputs = nodes.filter(({ op }) => op === "placeholder");
  const calls = nodes.filter(({ op }) => op.startsWith("call"));
  const count = `Here: ${plural(inputs.length, "input")} and ${plural(calls.length, "call")}`;
  const compilation = unit.compilation;
  const saved = compilation?.saved ?? [];
  switch (stage) {
    case "joint": {
      const backward = calls.filter(({ is_backward }) => is_backward).length;
      return `${count}, ${calls.length - backward} of them forward and ${backward} backward.`;
    }
    case "forward": {
      const bytes = saved.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0);
      return `${count}; it hands over ${plural(saved.length, "value")}, ${formatBytes(bytes)}.`;
    }
    case "backward": {
      const recomputed = compilation?.partition?.recomputed.length ?? 0;
      const again = recomputed > 0 ? `; ${plural(recomputed, "value")} of the forward are computed again` : "";
      return `${count}${again}.`;
    }
    default:
      return `${count}.`;
  }
}

/** A line of the visitor's, and what it became. */
function Example({ unit, stage }: { unit: Unit; stage: Stage }): JSX.Element | null {
  const nodes = unit.stages[stage]?.nodes ?? [];
  const counts = new Map<number, string[]>();
  for (const { op, span, name } of nodes) {
    if (op.startsWith("call") && span && span.file === undefined) counts.set(span.line, [...(counts.get(span.line) ?? []), name]);
  }
  const [line, names] = [...counts.entries()].sort(([, a], [, b]) => b.length - a.length)[0] ?? [];
  if (line === undefined || !names) return null;
  const shown = names.slice(0, 5);
  return (
    <p class="muted">
      <button
        type="button"
        class="link"
        onClick={() => {
          select({ from: "output", span: { line, column: 0, end_line: line, end_column: 0 }, names: [] });
          closeDialog();
        }}
      >
        Line {line}
      </button>{" "}
      became {shown.map((name, index) => [index > 0 && ", ", <code key={name}>{name}</code>])}
      {names.length > shown.length && ` and ${names.length - shown.length} more`}.
    </p>
  );
}
