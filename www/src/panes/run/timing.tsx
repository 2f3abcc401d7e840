// How long a step takes on each device, and what each of its kernels does beside the most that the device can.
import type { JSX } from "preact";
import type { Runner } from "../../engine/protocol";
import type { Timed } from "../../generated/report";
import { formatBytes, formatRate, formatSeconds, plural } from "../../report/format";
import { attempt, bundle, cancelOnDevice } from "../../state/gpu";
import { isTiming, timeSteps, timing, updates } from "../../state/timing";
import { descending, trainable } from "../../state/training";
import { Columns, number } from "../../ui/columns";
import { Dispatches, longestOf } from "./kernels";
import { Adapter, Drawn } from "./pane";

const DEVICES: Record<Runner, string> = { webgpu: "WebGPU", cpu: "CPU" };

export function TimingView(): JSX.Element {
  const now = timing.value;
  const what = bundle.value;
  const timed = (["webgpu", "cpu"] as const).flatMap((device) => (now?.timed[device] ? [{ device, timed: now.timed[device] }] : []));
  const onGpu = now?.timed.webgpu;
  return (
    <div class="timing">
      <div class="recipe">
        <button
          type="button"
          class="button primary"
          disabled={!what || isTiming.value || descending.value || attempt.value?.state === "loading"}
          onClick={() => void timeSteps()}
        >
          {isTiming.value ? "Timing…" : "Time steps"}
        </button>
        {isTiming.value && (
          <button type="button" class="button" onClick={() => cancelOnDevice()}>
            Cancel
          </button>
        )}
        <label class="check">
          <input
            type="checkbox"
            checked={updates.value && trainable.value.length > 0}
            disabled={isTiming.value || trainable.value.length === 0}
            onChange={(event) => (updates.value = event.currentTarget.checked)}
          />
          with an update by SGD
        </label>
      </div>
      {!now && (
        <p class="empty">
          {what
            ? "Takes the same step again and again for about a second: inputs stay where they are, and the loss of each step is read before the next. The CPU is timed beside a GPU."
            : "Once the script has run a compiled function, its steps can be timed here."}
        </p>
      )}
      {now && now.bundle !== what && <p class="stale">These times are of another compilation, or of an earlier script.</p>}
      {now && <Drawn bundle={now.bundle} />}
      {now?.message && <p class="note error">No step can be timed: {now.message}.</p>}
      {now?.at && (
        <p class="summary" aria-live="polite">
          <span class="chip">
            {now.progress && now.progress.loaded < now.progress.total
              ? `Loading the GPU module: ${formatBytes(now.progress.loaded)} of ${formatBytes(now.progress.total)}`
              : `On ${DEVICES[now.at]}…`}
          </span>
        </p>
      )}
      {timed.length > 0 && (
        <table class="table times" aria-live="polite">
          <caption>A step: {now?.bundle.backward ? "forward and backward" : "the forward"}{now?.updates && ", then SGD"}</caption>
          <Columns
            titles={[
              "On",
              number("Step", "Median of the steps after the first"),
              number("Fastest"),
              number("First", "With writing and building the kernels"),
              number("Steps"),
              number("Dispatches", "Kernels that a step runs"),
              number("Pipelines", "Built for it: kernels whose text is the same are one, and one that was built before is not built again"),
              number("Moved", "Bytes that the kernels of a step read and write"),
              number("Memory", "Bytes of device memory"),
            ]}
          />
          <tbody>
            {timed.map(({ device, timed: times }) => (
              <Row key={device} device={device} timed={times} />
            ))}
          </tbody>
        </table>
      )}
      {onGpu && (
        <>
          <Adapter device={onGpu.device} />
          {onGpu.roof && (
            <p class="caption" data-roof>
              The most that it was seen to do: {formatRate(onGpu.roof.operations, "FLOP/s")} of products and sums, {formatRate(onGpu.roof.bytes, "B/s")} of a copy.
            </p>
          )}
          {onGpu.notes.map((note) => (
            <p key={note} class="note">
              {note}
            </p>
          ))}
          <Dispatches title="A step" part={onGpu} unit={now?.unit} longest={longestOf([onGpu])} roof={onGpu.roof ?? undefined} />
        </>
      )}
    </div>
  );
}

function Row({ device, timed: { seconds, first_seconds, dispatches, pipelines, bytes, loss } }: { device: Runner; timed: Timed }): JSX.Element {
  const sorted = seconds.toSorted((a, b) => a - b);
  const moved = dispatches.reduce((sum, { bytes: [read, written] }) => sum + read + written, 0);
  const onDevice = device !== "cpu";
  return (
    <tr data-device={device} data-median={median(sorted)} data-loss={loss}>
      <th scope="row">{DEVICES[device]}</th>
      <td class="number">{formatSeconds(median(sorted))}</td>
      <td class="number">{formatSeconds(sorted[0] ?? NaN)}</td>
      <td class="number">{formatSeconds(first_seconds)}</td>
      <td class="number">{plural(seconds.length, "step")}</td>
      <td class="number">{onDevice && dispatches.length}</td>
      <td class="number">{onDevice && pipelines}</td>
      <td class="number">{onDevice && formatBytes(moved)}</td>
      <td class="number">{onDevice && formatBytes(bytes)}</td>
    </tr>
  );
}

function median(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}
