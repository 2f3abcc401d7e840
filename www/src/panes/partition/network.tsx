// The flow network of the cut: columns by depth, each value with what saving it costs, the cut between the two sides.
import type { JSX } from "preact";
import type { CutNetwork, CutNode } from "../../generated/report";
import { plural } from "../../report/format";
import { depths } from "../../report/partition";
import { looked, word } from "../../state/looked";
import { answerTo, query, variant } from "../../state/partition";
import { SourceName } from "../../ui/source-name";
import { select, selection } from "../../state/selection";

const WIDTH = 138;
const HEIGHT = 34;
const COLUMN = 176;
const ROW = 46;

const chosen = looked<string | undefined>("cutValue", undefined, word);

export function NetworkView(): JSX.Element {
  if (variant.value.partitioner === "default_partition") return <p class="empty">The default partitioner cuts nothing: it saves whatever the backward reads.</p>;
  const answer = answerTo({ ask: "network", query: query(variant.value), around: null, radius: null });
  if (!answer) return <p class="empty">Making the network…</p>;
  if (answer.answer !== "network") return <p class="empty">{answer.answer === "failed" ? answer.message : ""}</p>;
  const { network } = answer;
  const node = network.nodes.find(({ name }) => name === chosen.value);
  return (
    <div class="network">
      <p class="caption legend">
        <span class="legend-forward">known after the forward</span>
        <span class="legend-saved">on the cut: saved</span>
        <span class="legend-backward">computed in the backward</span>
      </p>
      <p class="caption">
        {network.nodes.length < network.total && `${network.nodes.length} of ${plural(network.total, "value")}: those near the cut. `}
        The cut costs {network.value}. {node ? <Said node={node} /> : "Choose a value to see its edges to source and sink."}
      </p>
      <div class="network-scroll" tabIndex={0} role="region" aria-label="Network of the cut">
        <Picture network={network} />
      </div>
    </div>
  );
}

function Said({ node: { name, capacity, source, sink } }: { node: CutNode }): JSX.Element {
  return (
    <>
      <code>{name}</code> <SourceName of={name} />: {capacity === undefined || capacity === null ? "it has no edge of its own" : `saving it costs ${capacity}`}
      {source && `; from the source, infinite: not recomputed, ${source}`}
      {sink && `; to the sink, infinite: ${sink}`}.
    </>
  );
}

function Picture({ network: { nodes, edges } }: { network: CutNetwork }): JSX.Element {
  const depth = depths(nodes.length, edges);
  const filled: number[] = [];
  const places = nodes.map((_, i) => {
    const column = depth[i] ?? 0;
    const row = filled[column] ?? 0;
    filled[column] = row + 1;
    return { x: 8 + column * COLUMN, y: 8 + row * ROW };
  });
  const width = 8 + filled.length * COLUMN;
  const height = 8 + Math.max(1, ...filled.map((count) => count ?? 0)) * ROW;
  return (
    <svg class="network-picture" width={width} height={height} role="group" aria-label={`${plural(nodes.length, "value")}, ${plural(edges.length, "edge")}`}>
      {edges.map(([from, to]) => {
        const [a, b] = [places[from], places[to]];
        if (!a || !b) return null;
        const [x1, y1, x2, y2] = [a.x + WIDTH, a.y + HEIGHT / 2, b.x, b.y + HEIGHT / 2];
        const near = chosen.value !== undefined && (nodes[from]?.name === chosen.value || nodes[to]?.name === chosen.value);
        return <path key={`${from}-${to}`} class={near ? "edge near" : "edge"} d={`M${x1},${y1} C${x1 + 24},${y1} ${x2 - 24},${y2} ${x2},${y2}`} />;
      })}
      {nodes.map((node, i) => {
        const place = places[i];
        return place && <Box key={node.name} node={node} x={place.x} y={place.y} />;
      })}
    </svg>
  );
}

function Box({ node, x, y }: { node: CutNode; x: number; y: number }): JSX.Element {
  const { name, capacity, cut, side, source, sink } = node;
  const choose = (): void => {
    chosen.value = name;
    select({ from: "partition", span: undefined, names: [name] });
  };
  const look = ["box", cut ? "cut" : side, selection.value?.names.includes(name) ? "chosen" : ""].join(" ");
  const said = `${name}, ${cut ? "on the cut" : side}, ${capacity === undefined || capacity === null ? "no capacity" : `capacity ${capacity}`}`;
  return (
    <g class={look} transform={`translate(${x},${y})`}>
      <rect
        width={WIDTH}
        height={HEIGHT}
        rx={5}
        role="button"
        // In SVG the attribute is written in small letters alone.
        tabindex={0}
        aria-label={said}
        onClick={choose}
        onKeyDown={(event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), choose())}
      />
      <text x={8} y={14} class="code" aria-hidden="true">
        {name.length > 18 ? `${name.slice(0, 17)}…` : name}
      </text>
      <text x={8} y={28} class="small" aria-hidden="true">
        {source ? "∞→ " : ""}
        {capacity === undefined || capacity === null ? "–" : capacity === "inf" ? "∞" : capacity}
        {sink ? " →∞" : ""}
      </text>
    </g>
  );
}
