// The run panel: run forward and backward or train, on WebGPU or the CPU, and look at what came of it.
import type { ComponentChildren, JSX } from "preact";
import { computed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Tabs } from "../../layout/tabs";
import { formatBytes, formatDifference, formatSeconds, plural } from "../../report/format";
import { attempt, bundle, cancelOnDevice, device, lookForGpu, messageOf, runOnDevice, softwareAdapter, wantedDevice, webgpu, whyNotRun } from "../../state/gpu";
import { drawInputs } from "../../state/logs";
import { looked, oneOf } from "../../state/looked";
import { graphsRun } from "../../state/session";
import { isTiming } from "../../state/timing";
import { descending } from "../../state/training";
import { DeviceView } from "./device";
import { KernelsView } from "./kernels";
import { TimingView } from "./timing";
import { TrainingView } from "./training";
import { ValuesView } from "./values";
import type { Bundle, Device, PartResult, RunResult } from "../../generated/report";
import "./run.css";

const VIEWS = [
  { key: "values", title: "Values", help: "Outputs, gradients and saved values, beside what the CPU computed" },
  { key: "kernels", title: "Kernels", help: "What ran, in order: nodes, lines, WGSL, time" },
  { key: "timing", title: "Timing", help: "How long a step takes, on the GPU and on the CPU" },
  { key: "training", title: "Training", help: "Training steps with the compiled graphs" },
  { key: "device", title: "Device", help: "The adapter and what it can do" },
] as const;
type View = (typeof VIEWS)[number]["key"];

const view = looked<View>("runView", "values", oneOf(VIEWS.map(({ key }) => key)));

/** Whether the open view has its own controls. */
const ofSteps = computed(() => view.value === "training" || view.value === "timing");

export function RunView(): JSX.Element {
  useEffect(() => void lookForGpu(), []);
  return (
    <div class="run" role="region" aria-label="Run on GPU">
      <div class="run-bar">
        <Controls />
        <Tabs id="run" label="Of this run" tabs={VIEWS} open={view.value} onOpen={(key) => (view.value = key)} class="segmented" />
      </div>
      <div class="run-body scroll" id="run-panel" role="tabpanel" aria-labelledby={`run-tab-${view.value}`} tabIndex={0}>
        {webgpu.value === false && (
          <p class="note">This browser offers no WebGPU here, so everything runs on the CPU. Recent Chrome, Edge, Safari and Firefox have it.</p>
        )}
        {softwareAdapter.value && wantedDevice.value === undefined && (
          <p class="note" data-prefers="cpu">
            The WebGPU adapter here is a processor that plays GPU ({softwareAdapter.value}). The CPU's own kernels are faster, so runs take the CPU until WebGPU
            is chosen.
          </p>
        )}
        {view.value === "training" ? <TrainingView /> : view.value === "timing" ? <TimingView /> : <OfRun show={view.value} />}
      </div>
    </div>
  );
}

function Controls(): JSX.Element {
  const now = attempt.value;
  const busy = now?.state === "loading";
  const what = bundle.value;
  return (
    <div class="run-controls">
      {!ofSteps.value && (
        <button type="button" class="button primary" disabled={!what || busy || descending.value || isTiming.value} onClick={() => void runOnDevice()}>
          {busy ? "Running…" : what?.backward ? "Run forward and backward" : "Run forward"}
        </button>
      )}
      {busy && (
        <button type="button" class="button" onClick={() => cancelOnDevice()}>
          Cancel
        </button>
      )}
      <label class="field">
        on
        <select
          class="select"
          aria-label="Device"
          value={device.value}
          disabled={descending.value || isTiming.value}
          onChange={(event) => (wantedDevice.value = event.currentTarget.value === "cpu" ? "cpu" : "webgpu")}
        >
          <option value="webgpu" disabled={webgpu.value === false}>
            WebGPU
          </option>
          <option value="cpu">CPU</option>
        </select>
      </label>
      {graphsRun.value?.log && !what && <DrawButton />}
      <span class="muted">
        {busy && now.progress && `Loading the GPU module: ${formatBytes(now.progress.loaded)} of ${formatBytes(now.progress.total)}`}
        {!busy && whyNotRun.value}
      </span>
    </div>
  );
}

/** Draws inputs for a compilation of a log. */
function DrawButton(): JSX.Element {
  const message = useSignal("");
  const draw = (): void => {
    message.value = "";
    drawInputs().catch((error: unknown) => (message.value = messageOf(error)));
  };
  return (
    <>
      <button type="button" class="button" onClick={draw}>
        Draw random inputs
      </button>
      {message.value && <span class="error">It can't be run: {message.value}.</span>}
    </>
  );
}

/** What the last run gave, or why there is none. */
function OfRun({ show }: { show: Exclude<View, "training" | "timing"> }): JSX.Element {
  const now = attempt.value;
  let content: ComponentChildren = null;
  if (now?.state === "failed") {
    content = (
      <p class="note error">
        The run failed: {now.message} Nothing is lost: the script and its graphs are as they were, and a further run starts afresh.
      </p>
    );
  } else if (now?.state === "done") {
    const { result, bundle: ran, unit } = now;
    const old = ran !== bundle.value;
    content = (
      <>
        {old && <p class="stale">This run is of another compilation, or of an earlier script.</p>}
        <Adapter device={result.device} />
        <Summary result={result} />
        <Drawn bundle={ran} />
        {show === "values" && <ValuesView result={result} bundle={ran} unit={unit} />}
        {show === "kernels" && <KernelsView result={result} unit={unit} />}
        {show === "device" && <DeviceView device={result.device} />}
      </>
    );
  } else if (!now && bundle.value) {
    content = (
      <>
        <p class="empty">
          {graphsRun.value?.log
            ? "Runs the logged graphs with random inputs of their shapes, as kernels on the GPU."
            : `Runs the compiled graphs once more, ${bundle.value.drawn.length > 0 ? "with inputs like those" : "with the inputs"} that the script gave them, as kernels on the GPU.`}{" "}
           Every value is compared with what the CPU {bundle.value.recomputes ? "computes" : "computed"}.
        </p>
        <Drawn bundle={bundle.value} />
      </>
    );
  }
  return <div aria-live="polite">{content}</div>;
}

/** Bytes of inputs that the page keeps of a compilation. */
const KEPT = 32 * 2 ** 20;

/** What is not the script's own in a run: inputs that are too large to be kept. */
export function Drawn({ bundle: { drawn, bytes, recomputes } }: { bundle: Bundle }): JSX.Element | null {
  if (!recomputes) return null;
  if (graphsRun.value?.log) {
    return (
      <p class="note" data-drawn={drawn.length}>
        {plural(drawn.length, "input")} ({formatBytes(bytes)} with all others): floats are drawn from the standard normal distribution, integers and truth values are 0.
        Devices of the log are the one that runs it here.
      </p>
    );
  }
  const of = drawn.reduce((sum, input) => sum + input.bytes, 0);
  return (
    <p class="note" data-drawn={drawn.length}>
      Inputs and results take {formatBytes(bytes)}, more than the {formatBytes(KEPT)} that are kept for runs.{" "}
      {drawn.length > 0 && (
        <>
          {plural(drawn.length, "input")} ({formatBytes(of)}) {drawn.length === 1 ? "is" : "are"} random here, with shape, mean and standard deviation of the
          script's own; the other inputs are the script's.{" "}
        </>
      )}
      What is compared is computed anew, on CPU and GPU, with the same inputs.
    </p>
  );
}

export function Adapter({ device: { backend, name, description, software } }: { device: Device }): JSX.Element {
  return (
    <p class="adapter">
      <strong>{backend === "cpu" ? "CPU" : name || backend}</strong>
      {description && description !== name && <span class="muted"> {description}</span>}
      {software && backend !== "cpu" && (
        <span class="warning"> This is a software adapter: a processor that plays GPU. Results are right, times say nothing about a GPU.</span>
      )}
    </p>
  );
}

function Summary({ result }: { result: RunResult }): JSX.Element {
  const notes = new Set([...result.forward.notes, ...(result.backward?.notes ?? [])]);
  return (
    <>
      <p class="summary">
        <Worst result={result} />
        <Times name="Forward" part={result.forward} />
        {result.backward && <Times name="Backward" part={result.backward} />}
      </p>
      {[...notes].map((note) => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
    </>
  );
}

/** The largest distance from the CPU, over everything computed. */
function Worst({ result }: { result: RunResult }): JSX.Element {
  const all = [...result.forward.outputs, ...(result.backward?.outputs ?? [])];
  const mismatched = all.filter(({ mismatch }) => mismatch !== null).length;
  const outside = all.filter(({ outside }) => (outside ?? 0) > 0).length;
  const worst = Math.max(0, ...all.map(({ max_abs }) => max_abs ?? 0));
  const text = mismatched
    ? `${plural(mismatched, "value")} cannot be compared with the CPU's`
    : worst === 0
      ? "Same as the CPU"
      : `Within ${formatDifference(worst)} of the CPU`;
  return (
    <span
      class={mismatched ? "chip bad" : outside ? "chip" : "chip good"}
      title="A GPU adds numbers in another order, and rounds after each addition: the last digits differ. What torch.testing.assert_close allows is not marked."
    >
      {text}
      {!mismatched && outside > 0 && `; ${plural(outside, "value")} beyond assert_close's tolerance`}
    </span>
  );
}

function Times({ name, part }: { name: string; part: PartResult }): JSX.Element {
  const times = part.dispatches.map(({ microseconds }) => microseconds);
  const known = times.every((time) => time !== null) ? times.reduce<number>((sum, time) => sum + (time ?? 0), 0) : undefined;
  return (
    <span class="chip">
      {name}: {plural(part.dispatches.length, "dispatch", "dispatches")}
      {known !== undefined && known > 0 && `, ${formatSeconds(known / 1e6)}`}
      <span class="muted">
        {" "}
        ({formatSeconds(part.run_seconds)} with transfers, {formatSeconds(part.compile_seconds)} to build)
      </span>
    </span>
  );
}
