// Saved and peak bytes over what is recomputed, a point per memory budget. Made when asked for: every point is a partition.
import type { JSX } from "preact";
import type { CurvePoint } from "../../generated/report";
import { formatBytes } from "../../report/format";
import { peakRises } from "../../report/partition";
import { flag, looked } from "../../state/looked";
import { answerTo, MEMORY_QUESTIONS } from "../../state/partition";

const WIDTH = 640;
const HEIGHT = 180;
const LEFT = 64;

const wanted = looked("memoryCurve", false, flag);

interface Props {
  budget: number;
  onChoose(budget: number): void;
}

export function Curve(props: Props): JSX.Element {
  return (
    <details class="curve" open={wanted.value} onToggle={({ currentTarget }) => (wanted.value = currentTarget.open)}>
      <summary>Memory against recomputation, over all budgets</summary>
      {wanted.value && <Points {...props} />}
    </details>
  );
}

function Points({ budget, onChoose }: Props): JSX.Element {
  const answer = answerTo(MEMORY_QUESTIONS.curve());
  if (!answer) return <p class="empty">Partitioning for every budget…</p>;
  if (answer.answer !== "curve") return <p class="empty">{answer.answer === "failed" ? answer.message : ""}</p>;
  const { points } = answer;
  const rises = peakRises(points);
  const cost = points.some(({ recompute }) => recompute.flops > 0) ? "flops" : "bytes";
  return (
    <>
      <Picture points={points} cost={cost} budget={budget} onChoose={onChoose} />
      <p class="caption legend">
        <span class="series-saved">saved bytes</span>
        <span class="series-peak">peak bytes</span>
        <span class="plain">across: {cost === "flops" ? "floating-point operations" : "bytes"} computed again</span>
      </p>
      {rises.length > 0 && (
        <p class="note" data-rises={rises.length}>
          The peak is not monotonic in the budget:{" "}
          {rises
            .map(({ smaller, larger }) => `${smaller.budget} peaks at ${formatBytes(smaller.peak_bytes)}, ${larger.budget} at ${formatBytes(larger.peak_bytes)}`)
            .join("; ")}
          . Saving less can cost more at the worst moment: what is recomputed is alive together with what it is recomputed from.
        </p>
      )}
    </>
  );
}

function Picture({ points, cost, budget, onChoose }: Props & { points: readonly CurvePoint[]; cost: "flops" | "bytes" }): JSX.Element {
  const across = ({ recompute }: CurvePoint): number => recompute[cost];
  const mostAcross = Math.max(1, ...points.map(across));
  const most = Math.max(1, ...points.map(({ peak_bytes, saved_bytes }) => Math.max(peak_bytes, saved_bytes)));
  const x = (point: CurvePoint): number => LEFT + 8 + (across(point) / mostAcross) * (WIDTH - LEFT - 24);
  const y = (bytes: number): number => HEIGHT - 20 - (bytes / most) * (HEIGHT - 34);
  const inOrder = points.toSorted((a, b) => across(a) - across(b) || b.budget - a.budget);
  const line = (bytes: (point: CurvePoint) => number): string => inOrder.map((point) => `${x(point).toFixed(1)},${y(bytes(point)).toFixed(1)}`).join(" ");
  return (
    <svg class="memory-chart" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="group" aria-label="Memory against recomputation">
      {[0, 0.5, 1].map((share) => (
        <g key={share}>
          <line class="grid" x1={LEFT} x2={WIDTH - 8} y1={y(most * share)} y2={y(most * share)} />
          <text class="small" x={LEFT - 6} y={y(most * share) + 4} text-anchor="end">
            {formatBytes(Math.round(most * share))}
          </text>
        </g>
      ))}
      <text class="small" x={WIDTH - 8} y={HEIGHT - 5} text-anchor="end">
        {cost === "flops" ? mostAcross.toExponential(1) : formatBytes(mostAcross)}
      </text>
      <polyline class="series series-saved" points={line((point) => point.saved_bytes)} />
      <polyline class="series series-peak" points={line((point) => point.peak_bytes)} />
      {points.map((point) => (
        <g
          key={point.budget}
          class={point.budget === budget ? "point chosen" : "point"}
          role="button"
          // In SVG the attribute is written in small letters alone.
          tabindex={0}
          aria-label={`Budget ${point.budget}: ${formatBytes(point.saved_bytes)} saved, peak ${formatBytes(point.peak_bytes)}, ${point.recomputed} recomputed`}
          onClick={() => onChoose(point.budget)}
          onKeyDown={(event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), onChoose(point.budget))}
        >
          <circle class="series-saved" cx={x(point)} cy={y(point.saved_bytes)} r={4} />
          <circle class="series-peak" cx={x(point)} cy={y(point.peak_bytes)} r={4} />
          <title>{`budget ${point.budget}`}</title>
        </g>
      ))}
    </svg>
  );
}
