// The graph as a picture: a canvas that can be gone about by mouse, touch and keyboard, tools over it, and a card that says what
// was chosen. This module is loaded when a picture is first asked for.
import { useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { STAGE_TITLES } from "../report/stages";
import { selectedStage, stagesOfUnit, wantedStage } from "../state/unit";
import { Card } from "./card";
import { Legend } from "./legend";
import { PictureModel } from "./session";
import { Tools } from "./tools";
import "../styles/picture.css";

export default function PictureView(): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const model = useMemo(() => new PictureModel(), []);
  useEffect(() => {
    if (!host.current) return undefined;
    model.attach(host.current);
    return () => model.close();
  }, [model]);
  const label = useComputed(() => {
    const stage = selectedStage.value;
    const count = model.shown.value?.picture.nodes.length ?? 0;
    return `Picture of the ${stage ? STAGE_TITLES[stage].toLowerCase() : ""} graph, ${count} nodes. Arrow keys follow edges, Enter opens or closes a module, plus and minus zoom, F shows all, slash searches.`;
  });
  const { failure, shown, spokenFocus } = model;
  return (
    <div class="picture" data-stage={selectedStage.value}>
      <div
        ref={host}
        class="picture-host"
        role="application"
        aria-label={label.value}
        aria-describedby="picture-focus"
        tabIndex={0}
        data-layout={shown.value?.milliseconds.toFixed(1)}
        data-nodes={shown.value?.picture.nodes.length}
        data-items={shown.value?.items}
        data-focus={model.focusName.value}
        onKeyDown={(event) => keys(event, model)}
      />
      <Tools model={model} />
      <Legend picture={shown.value?.picture} />
      <Card model={model} />
      <p id="picture-focus" class="visually-hidden" aria-live="polite">
        {spokenFocus.value}
      </p>
      {failure.value && <p class="note error">The picture could not be laid out: {failure.value}</p>}
      {!shown.value && !failure.value && <p class="picture-wait">Laying out…</p>}
    </div>
  );
}

const ARROWS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" } as const;
const STEP = 60;

function keys(event: KeyboardEvent, model: PictureModel): void {
  if (event.ctrlKey || event.metaKey) return;
  const { key } = event;
  if (key in ARROWS) {
    const direction = ARROWS[key as keyof typeof ARROWS];
    if (event.altKey && direction === "up") model.goToGroup();
    else if (event.shiftKey) {
      const [dx, dy] = { up: [0, STEP], down: [0, -STEP], left: [STEP, 0], right: [-STEP, 0] }[direction] as [number, number];
      model.canvas?.panBy(dx, dy);
    } else model.go(direction);
  } else if (key === "Enter" || key === " ") model.toggleFocus();
  else if (key === "+" || key === "=") model.canvas?.zoomBy(1.25);
  else if (key === "-" || key === "_") model.canvas?.zoomBy(0.8);
  else if (key === "f" || key === "0") model.canvas?.fit();
  else if (key === "/") model.search();
  else if (key === "n" || key === "N") model.nextMatch(key === "n" ? 1 : -1);
  else if (key === "e") model.setAll(false);
  else if (key === "c") model.setAll(true);
  else if (key === "[" || key === "]") changeStage(key === "]" ? 1 : -1);
  else return;
  event.preventDefault();
}

/** The stage before or after. */
function changeStage(by: number): void {
  const stages = stagesOfUnit.value;
  const at = stages.indexOf(selectedStage.value ?? "joint");
  const next = stages[at + by];
  if (next) wantedStage.value = next;
}

