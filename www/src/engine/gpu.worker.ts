// Runs bundles on the GPU, and trains them. It lives apart from the interpreter, so that stopping a script costs neither
// device nor pipelines.
import init, { print_tensor, run_bundle, run_bundle_cpu, start_training, trained_parameters, training_steps } from "../../pkg/gpu/gpu.js";
import type { Device, Named, RunError, RunResult, Training } from "../generated/report";
import type { FromGpu, ToGpu } from "./protocol";

/** Losses are told this often, about: as many steps at once as fit. */
const TELL_EVERY_MS = 60;
const MOST_AT_ONCE = 1024;

const post = (message: FromGpu): void => self.postMessage(message);

let ready: Promise<unknown> = Promise.resolve();
/** Of the training that goes on. */
let lr = 0;
let paused = false;

self.onmessage = ({ data }: MessageEvent<ToGpu>): void => {
  // These are heard while steps are taken; everything else waits its turn.
  if (data.type === "adjust") lr = data.lr;
  else if (data.type === "pause") paused = true;
  else if (data.type === "print") post({ type: "printed", ask: data.ask, text: print_tensor(data.tensor) });
  else ready = ready.then(() => handle(data)).catch((error: unknown) => post({ type: "failed", message: String(error) }));
};

async function handle(message: ToGpu): Promise<void> {
  if (message.type === "init") {
    await init({ module_or_path: message.module });
    post({ type: "ready" });
    return;
  }
  if (message.type === "adjust" || message.type === "pause" || message.type === "print") return;
  try {
    switch (message.type) {
      case "run": {
        const { bundle, device, run } = message;
        const result = (device === "webgpu" ? await run_bundle(bundle) : run_bundle_cpu(bundle)) as RunResult;
        result.device = await named(result.device);
        post({ type: "result", run, result });
        break;
      }
      case "train": {
        const { bundle, recipe, device, run, steps } = message;
        const training = (await start_training(bundle, recipe, device === "webgpu")) as Training;
        training.device = await named(training.device);
        post({ type: "training", run, training });
        await takeSteps(run, steps, recipe.lr);
        break;
      }
      case "continue":
        await takeSteps(message.run, message.steps, message.lr);
        break;
    }
  } catch (error) {
    if (!isRunError(error)) throw error;
    post({ type: "refused", run: message.run, message: error.message, node: error.node });
  }
}

async function takeSteps(run: number, steps: number, size: number): Promise<void> {
  lr = size;
  paused = false;
  let atOnce = 1;
  for (let left = steps; left > 0 && !paused; ) {
    const began = performance.now();
    const losses = (await training_steps(Math.min(atOnce, left), lr)) as number[];
    const passed = performance.now() - began;
    left -= losses.length;
    post({ type: "losses", run, losses, seconds: passed / 1000 });
    if (passed * 2 < TELL_EVERY_MS) atOnce = Math.min(atOnce * 2, MOST_AT_ONCE);
    else if (passed > TELL_EVERY_MS) atOnce = Math.max(1, Math.floor(atOnce / 2));
    // The turn of messages: the visitor may have paused.
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  post({ type: "trained", run, parameters: (await trained_parameters()) as Named[] });
}

/** The device with the name that WebGPU has for its adapter: wgpu hands on a description at most. */
async function named(device: Device): Promise<Device> {
  if (device.backend === "cpu") return device;
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
  const name = [adapter?.info.vendor, adapter?.info.architecture].filter(Boolean).join(" ");
  return name ? { ...device, name } : device;
}

/** What the module itself answers; anything else is a trap. */
function isRunError(error: unknown): error is RunError {
  return typeof error === "object" && error !== null && !(error instanceof Error) && "message" in error && "node" in error;
}
