// Runs the selected compilation's forward and backward on the GPU, with the script's own inputs, and compares with the CPU.
import type { JSX } from "preact";
import type { Computed, Device, PartResult, RunResult } from "../generated/report";
import { formatBytes, formatDifference, formatSeconds, formatShape, plural } from "../report/format";
import { describe, preview } from "../report/tensor";
import { select, selection } from "../state/selection";
import { attempt, bundle, device, runOnDevice, wantedDevice, webgpu } from "../state/gpu";

export function RunPane(): JSX.Element {
  const now = attempt.value;
  return (
    <div class="scroll run" tabIndex={0} role="region" aria-label="Run on GPU">
      <Controls />
      {webgpu.value === false && (
        <p class="note">This browser offers no WebGPU here, so the graphs run on the CPU. Recent Chrome, Edge, Safari and Firefox have it.</p>
      )}
      <div aria-live="polite">
        {now?.state === "failed" && <p class="note error">The run failed: {now.message}</p>}
        {now?.state === "done" && <Result result={now.result} numOutputs={now.bundle.num_outputs} old={now.bundle !== bundle.value} />}
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
      <button type="button" class="button primary" disabled={!what || busy} onClick={() => void runOnDevice()}>
        {busy ? "Running…" : what?.backward ? "Run forward and backward" : "Run forward"}
      </button>
      <label class="field">
        on
        <select
          class="select"
          aria-label="Device"
          value={device.value}
          onChange={(event) => (wantedDevice.value = event.currentTarget.value === "cpu" ? "cpu" : "webgpu")}
        >
          <option value="webgpu" disabled={webgpu.value === false}>
            WebGPU
          </option>
          <option value="cpu">CPU</option>
        </select>
      </label>
      <span class="muted">
        {busy && now.progress && `Loading the GPU module: ${formatBytes(now.progress.loaded)} of ${formatBytes(now.progress.total)}`}
        {!busy && !what && "Runs once the script has called a compiled function."}
        {!busy && what && !what.backward && "The script has run no backward of it."}
      </span>
    </div>
  );
}

function Result({ result, numOutputs, old }: { result: RunResult; numOutputs: number; old: boolean }): JSX.Element {
  const outputs = result.forward.outputs.slice(0, numOutputs);
  const saved = result.forward.outputs.slice(numOutputs);
  const notes = new Set([...result.forward.notes, ...(result.backward?.notes ?? [])]);
  return (
    <>
      {old && <p class="stale">This run is of an earlier script.</p>}
      <Adapter device={result.device} />
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
      <Values title="Outputs" values={outputs} />
      {result.backward && <Values title="Gradients" values={result.backward.outputs} />}
      {saved.length > 0 && <Values title="Saved values" values={saved} />}
      <Dispatches title="Forward" part={result.forward} />
      {result.backward && <Dispatches title="Backward" part={result.backward} />}
    </>
  );
}

function Adapter({ device: { backend, name, description, software } }: { device: Device }): JSX.Element {
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

/** The largest distance from the CPU, over everything computed. */
function Worst({ result }: { result: RunResult }): JSX.Element {
  const all = [...result.forward.outputs, ...(result.backward?.outputs ?? [])];
  const mismatched = all.filter(({ mismatch }) => mismatch !== null).length;
  const worst = Math.max(0, ...all.map(({ max_abs }) => max_abs ?? 0));
  return (
    <span class={mismatched ? "chip bad" : "chip good"}>
      {mismatched ? `${plural(mismatched, "value")} differ from the CPU's` : worst === 0 ? "Same as the CPU" : `Within ${formatDifference(worst)} of the CPU`}
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

function Values({ title, values }: { title: string; values: readonly Computed[] }): JSX.Element | null {
  if (values.length === 0) return null;
  return (
    <table class="table values">
      <caption>{title}</caption>
      <thead>
        <tr>
          <th scope="col">Value</th>
          <th scope="col">Shape</th>
          <th scope="col">Elements</th>
          <th scope="col" class="number" title="Largest absolute difference from what the CPU computed">
            Δ
          </th>
          <th scope="col" class="number" title="Largest difference relative to the element">
            Δ rel
          </th>
        </tr>
      </thead>
      <tbody>
        {values.map((value, index) => (
          <tr key={index} class={value.mismatch ? "bad" : ""}>
            <th scope="row" class="code">
              {value.name}
              {value.label && <span class="muted"> {value.label}</span>}
            </th>
            <td class="code">{formatShape(describe(value.value)?.shape)}</td>
            <td class="code preview">{preview(value.value)}</td>
            <td class="number">{value.mismatch ?? formatDifference(value.max_abs)}</td>
            <td class="number">{formatDifference(value.max_rel)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Dispatches({ title, part }: { title: string; part: PartResult }): JSX.Element | null {
  if (part.dispatches.length === 0) return null;
  const longest = Math.max(...part.dispatches.map(({ microseconds }) => microseconds ?? 0));
  return (
    <table class="table dispatches">
      <caption>{title}, dispatch by dispatch</caption>
      <tbody>
        {part.dispatches.map(({ kernel, workgroups, microseconds }, index) => {
          const { name, nodes, wgsl } = part.kernels[kernel] ?? { name: "", nodes: [], wgsl: "" };
          return (
            <tr key={index}>
              <td class="number faint">{index + 1}</td>
              <td>
                <button
                  type="button"
                  class="link code"
                  aria-pressed={nodes.some((node) => selection.value?.names.includes(node))}
                  onClick={() => select({ from: "run", span: undefined, names: nodes })}
                >
                  {nodes.join(", ") || name}
                </button>
                {wgsl && (
                  <details>
                    <summary>
                      WGSL <span class="muted">{name}</span>
                    </summary>
                    <pre class="wgsl">{wgsl}</pre>
                  </details>
                )}
              </td>
              <td class="code faint">{workgroups.some((count) => count > 0) && workgroups.join("×")}</td>
              <td class="number time">
                {microseconds !== null && (
                  <>
                    <span class="bar" style={{ "--share": longest > 0 ? microseconds / longest : 0 }} />
                    {formatSeconds(microseconds / 1e6)}
                  </>
                )}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
