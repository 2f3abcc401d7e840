// Two graphs side by side. The second has pickers of its own; a choice in one is a choice in the other, and they scroll together.
import type { EditorView } from "@codemirror/view";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { GraphView } from "../generated/report";
import { correspond } from "../report/correspond";
import { STAGE_TITLES, STAGES } from "../report/stages";
import { beside, besideFailure, besideNames, besideRun, besideStage, besideStages, besideUnit, pin, pins } from "../state/beside";
import { BACKENDS, options } from "../state/options";
import { graphsRun } from "../state/session";
import { still } from "../state/still";
import { FIRST, GraphText, type ShownGraph } from "./graph-text";
import { isCall } from "../editor/graph";

const SECOND: ShownGraph = { unit: besideUnit, stage: besideStage, names: besideNames, from: "beside", label: "Second graph" };

export function BesideGraphs(): JSX.Element {
  const views = useRef<{ first?: EditorView; second?: EditorView }>({});
  useEffect(() => {
    const { first, second } = views.current;
    return first && second ? scrollTogether(first, second) : undefined;
  }, []);
  const stage = besideStage.value;
  return (
    <div class="beside">
      <section class="beside-side" aria-label="First graph">
        <GraphText of={FIRST} onView={(view) => (views.current.first = view)} />
      </section>
      <section class="beside-side" aria-label="Second graph, beside it">
        <Pickers />
        {besideFailure.value && <p class="stale">{besideFailure.value}</p>}
        {!stage && <p class="empty">{besideRun.value ? "There is no graph of it." : "Running it…"}</p>}
        <div class="beside-text" hidden={!stage}>
          <GraphText of={SECOND} onView={(view) => (views.current.second = view)} />
        </div>
      </section>
    </div>
  );
}

function Pickers(): JSX.Element {
  const now = beside.value ?? {};
  const ofLog = graphsRun.value?.log !== undefined;
  return (
    <div class="beside-bar">
      <select
        class="select"
        aria-label="Run of the second graph"
        value={String(now.pin ?? "")}
        onChange={({ currentTarget: { value } }) => {
          const { pin: _, ...others } = now;
          beside.value = value === "" ? others : { ...others, pin: Number(value) };
        }}
      >
        <option value="">{ofLog ? "this log" : "this run"}</option>
        {pins.value.map(({ id, title }) => (
          <option key={id} value={String(id)}>
            {title}
          </option>
        ))}
      </select>
      {!ofLog && !still && now.pin === undefined && (
        <select
          class="select"
          aria-label="Backend of the second graph"
          title="Another backend than the script's runs it once more, beside this run"
          value={now.backend ?? options.value.backend}
          onChange={({ currentTarget: { value } }) => (beside.value = { ...now, backend: BACKENDS.find((name) => name === value) ?? options.value.backend })}
        >
          {BACKENDS.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
      <select
        class="select"
        aria-label="Stage of the second graph"
        value={besideStage.value ?? ""}
        onChange={({ currentTarget: { value } }) => {
          const stage = STAGES.find((name) => name === value);
          if (stage) beside.value = { ...now, stage };
        }}
      >
        {besideStages.value.map((key) => (
          <option key={key} value={key}>
            {STAGE_TITLES[key]}
          </option>
        ))}
      </select>
      <button type="button" class="button small" title="Keeps this run here, to hold what the script becomes against it" onClick={pin}>
        Pin this run
      </button>
    </div>
  );
}

/** When one is scrolled the other follows: to the line of the same value, where both have it, else as far. */
function scrollTogether(first: EditorView, second: EditorView): () => void {
  let led: EditorView | undefined;
  let release: ReturnType<typeof setTimeout> | undefined;
  const follow = (from: EditorView, to: EditorView, graphs: () => readonly [GraphView | undefined, GraphView | undefined]) => (): void => {
    // The other one's scrolling comes back as an event of its own.
    if (led && led !== from) return;
    led = from;
    clearTimeout(release);
    release = setTimeout(() => (led = undefined), 120);
    const top = from.scrollDOM.scrollTop;
    const block = from.lineBlockAtHeight(top);
    const line = from.state.doc.lineAt(block.from).number;
    const [here, there] = graphs();
    const target = here && there && lineOfSame(here, there, line - 1);
    if (target !== undefined && target[1] < to.state.doc.lines) {
      const [ahead, at] = target;
      const anchor = from.lineBlockAt(from.state.doc.line(ahead + 1).from).top - top;
      to.scrollDOM.scrollTop = to.lineBlockAt(to.state.doc.line(at + 1).from).top - anchor;
      return;
    }
    const room = (view: EditorView): number => Math.max(1, view.scrollDOM.scrollHeight - view.scrollDOM.clientHeight);
    to.scrollDOM.scrollTop = (top / room(from)) * room(to);
  };
  const graphOf = (of: ShownGraph): GraphView | undefined => {
    const stage = of.stage.peek();
    return stage && of.unit.peek()?.stages[stage];
  };
  const one = follow(first, second, () => [graphOf(FIRST), graphOf(SECOND)]);
  const other = follow(second, first, () => [graphOf(SECOND), graphOf(FIRST)]);
  first.scrollDOM.addEventListener("scroll", one);
  second.scrollDOM.addEventListener("scroll", other);
  return () => {
    clearTimeout(release);
    first.scrollDOM.removeEventListener("scroll", one);
    second.scrollDOM.removeEventListener("scroll", other);
  };
}

/** Lines further on that are looked at for a value that both graphs have. */
const AHEAD = 12;

/** The next line of a graph, from one on, whose value the other graph has, too; and its line there. */
function lineOfSame(here: GraphView, there: GraphView, line: number): [number, number] | undefined {
  const near = here.nodes
    .filter((node) => isCall(node) && node.text_line !== null && node.text_line >= line && node.text_line < line + AHEAD)
    .toSorted((a, b) => (a.text_line ?? 0) - (b.text_line ?? 0));
  for (const node of near) {
    const same = correspond(there, { names: [node.name], span: node.span ?? undefined, seq_nr: node.seq_nr, is_backward: node.is_backward });
    if (same && isCall(same) && same.text_line !== null && node.text_line !== null) return [node.text_line, same.text_line];
  }
  return undefined;
}
