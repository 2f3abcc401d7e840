// Live bytes by step, one line per mode. Forward and backward have a part of the width each, so that modes of different
// lengths lie above one another. The table below says the same without a picture.
import type { JSX } from "preact";
import type { MemoryProfile } from "../../generated/report";
import { formatBytes } from "../../report/format";

export interface Series {
  key: string;
  label: string;
  memory: MemoryProfile;
}

interface Props {
  series: readonly Series[];
  chosen: string | undefined;
  /** Step of the chosen series. */
  at: number | undefined;
  onChoose(key: string, step: number): void;
}

const WIDTH = 640;
const HEIGHT = 170;
const LEFT = 64;
/** Points of a line that are drawn: of more, the highest of each stretch. */
const MOST_POINTS = 800;

export function Chart({ series, chosen, at, onChoose }: Props): JSX.Element {
  const forwardSteps = (memory: MemoryProfile): number => {
    const first = memory.steps.findIndex(({ is_backward }) => is_backward);
    return first < 0 ? memory.steps.length : first;
  };
  const most = Math.max(1, ...series.map(({ memory }) => memory.peak_bytes));
  const forward = Math.max(1, ...series.map(({ memory }) => forwardSteps(memory)));
  const backward = Math.max(1, ...series.map(({ memory }) => memory.steps.length - forwardSteps(memory)));
  const border = LEFT + ((WIDTH - LEFT - 8) * forward) / (forward + backward);
  const x = (memory: MemoryProfile, step: number): number => {
    const split = forwardSteps(memory);
    if (step < split) return LEFT + ((step + 0.5) / split) * (border - LEFT);
    return border + ((step - split + 0.5) / Math.max(1, memory.steps.length - split)) * (WIDTH - 8 - border);
  };
  const y = (bytes: number): number => HEIGHT - 20 - (bytes / most) * (HEIGHT - 34);
  const current = series.find(({ key }) => key === chosen);
  const pick = (event: MouseEvent & { currentTarget: SVGSVGElement }): void => {
    if (!current) return;
    const box = event.currentTarget.getBoundingClientRect();
    const wanted = ((event.clientX - box.left) / box.width) * WIDTH;
    let best = 0;
    current.memory.steps.forEach((_, i) => {
      if (Math.abs(x(current.memory, i) - wanted) < Math.abs(x(current.memory, best) - wanted)) best = i;
    });
    onChoose(current.key, best);
  };
  const label = series.map((one) => `${one.label}: peak ${formatBytes(one.memory.peak_bytes)}`).join("; ");
  return (
    <svg class="memory-chart" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`Live bytes by step. ${label}`} onClick={pick}>
      {[0, 0.5, 1].map((share) => (
        <g key={share}>
          <line class="grid" x1={LEFT} x2={WIDTH - 8} y1={y(most * share)} y2={y(most * share)} />
          <text class="small" x={LEFT - 6} y={y(most * share) + 4} text-anchor="end">
            {formatBytes(Math.round(most * share))}
          </text>
        </g>
      ))}
      <line class="border" x1={border} x2={border} y1={8} y2={HEIGHT - 20} />
      <text class="small" x={(LEFT + border) / 2} y={HEIGHT - 5} text-anchor="middle">
        forward
      </text>
      <text class="small" x={(border + WIDTH) / 2} y={HEIGHT - 5} text-anchor="middle">
        backward
      </text>
      {series.map(({ key, memory }) => (
        <path key={key} class={`series series-${key} ${key === chosen ? "chosen" : ""}`} d={path(memory, x, y)} />
      ))}
      {current && at !== undefined && (
        <circle class={`series-${current.key} at`} r={4} cx={x(current.memory, at)} cy={y(current.memory.steps[at]?.bytes ?? 0)} />
      )}
    </svg>
  );
}

function path(memory: MemoryProfile, x: (memory: MemoryProfile, step: number) => number, y: (bytes: number) => number): string {
  const { steps } = memory;
  const stretch = Math.max(1, Math.ceil(steps.length / MOST_POINTS));
  let d = "";
  for (let start = 0; start < steps.length; start += stretch) {
    let highest = start;
    for (let i = start; i < Math.min(start + stretch, steps.length); i += 1) {
      if ((steps[i]?.bytes ?? 0) > (steps[highest]?.bytes ?? 0)) highest = i;
    }
    const [px, py] = [x(memory, highest).toFixed(1), y(steps[highest]?.bytes ?? 0).toFixed(1)];
    d += d ? `H${px}V${py}` : `M${px},${py}`;
  }
  return d;
}
