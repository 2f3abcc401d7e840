// Two panes and a separator between them that can be dragged, or moved with the arrow keys (the pattern that ARIA calls a
// window splitter).
import type { ComponentChildren, JSX } from "preact";
import { useRef } from "preact/hooks";

interface Props {
  direction: "row" | "column";
  /** Share of the first pane, 0 to 1. */
  at: number;
  /** What the separator separates, for those who cannot see it. */
  label: string;
  onMove(at: number): void;
  children: [ComponentChildren, ComponentChildren];
}

const LEAST = 0.12;
const STEP = 0.04;
const clamp = (at: number): number => Math.min(1 - LEAST, Math.max(LEAST, at));

export function Split({ direction, at, label, onMove, children }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const row = direction === "row";

  const drag = (event: PointerEvent): void => {
    const bar = event.currentTarget as HTMLElement;
    if (!bar.hasPointerCapture(event.pointerId) || !box.current) return;
    const { left, top, width, height } = box.current.getBoundingClientRect();
    onMove(clamp(row ? (event.clientX - left) / width : (event.clientY - top) / height));
  };
  const key = (event: KeyboardEvent): void => {
    const back = row ? "ArrowLeft" : "ArrowUp";
    const on = row ? "ArrowRight" : "ArrowDown";
    const moves: Record<string, number> = { [back]: at - STEP, [on]: at + STEP, Home: 0, End: 1 };
    const next = moves[event.key];
    if (next === undefined) return;
    event.preventDefault();
    onMove(clamp(next));
  };

  return (
    <div ref={box} class={`split split-${direction}`} style={{ "--at": `${at * 100}%` }}>
      <div class="split-pane">{children[0]}</div>
      <div
        class="split-bar"
        role="separator"
        tabIndex={0}
        aria-label={label}
        aria-orientation={row ? "vertical" : "horizontal"}
        aria-valuenow={Math.round(at * 100)}
        aria-valuemin={LEAST * 100}
        aria-valuemax={100 - LEAST * 100}
        onPointerDown={(event) => {
          event.preventDefault();
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={drag}
        onKeyDown={key}
      />
      <div class="split-pane">{children[1]}</div>
    </div>
  );
}
