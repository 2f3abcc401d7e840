// Runs bundles on the GPU. It lives apart from the interpreter, so that stopping a script costs neither device nor pipelines.
import init, { run_bundle, run_bundle_cpu } from "../../pkg/gpu/gpu.js";
import type { Device, RunError, RunResult } from "../generated/report";
import type { FromGpu, ToGpu } from "./protocol";

const post = (message: FromGpu): void => self.postMessage(message);

let ready: Promise<unknown> = Promise.resolve();

self.onmessage = ({ data }: MessageEvent<ToGpu>): void => {
  ready = ready.then(() => handle(data)).catch((error: unknown) => post({ type: "failed", message: String(error) }));
};

async function handle(message: ToGpu): Promise<void> {
  if (message.type === "init") {
    await init({ module_or_path: message.module });
    post({ type: "ready" });
    return;
  }
  try {
    const { bundle, device, run } = message;
    const result = (device === "webgpu" ? await run_bundle(bundle) : run_bundle_cpu(bundle)) as RunResult;
    if (device === "webgpu") result.device = await named(result.device);
    post({ type: "result", run, result });
  } catch (error) {
    if (!isRunError(error)) throw error;
    post({ type: "refused", run: message.run, message: error.message, node: error.node });
  }
}

/** The device with the name that WebGPU has for its adapter: wgpu hands on a description at most. */
async function named(device: Device): Promise<Device> {
  const info = (await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" }))?.info;
  const name = [info?.vendor, info?.architecture].filter(Boolean).join(" ");
  return name ? { ...device, name } : device;
}

/** What the module itself answers; anything else is a trap. */
function isRunError(error: unknown): error is RunError {
  return typeof error === "object" && error !== null && !(error instanceof Error) && "message" in error && "node" in error;
}
