// Runs of a compilation on a device, and what the browser has to offer for them.
import { computed, signal } from "@preact/signals";
import { Gpu } from "../engine/gpu";
import { ModuleSource, type Progress } from "../engine/module";
import type { Runner } from "../engine/protocol";
import type { Bundle, RunResult } from "../generated/report";
import type { Unit } from "../report/stages";
import { graphsRun } from "./session";
import { selectedUnit, whyNoTrace } from "./unit";

export type Attempt =
  | { state: "loading"; progress: Progress | undefined }
  /** With what was run: the unit it belongs to may be of an earlier script by now. */
  | { state: "done"; result: RunResult; bundle: Bundle; unit: Unit | undefined }
  | { state: "failed"; message: string };

/** Whether the browser gives pages a GPU; `undefined` until it has answered. */
export const webgpu = signal<boolean | undefined>(undefined);
/** The name of the adapter, where it is a processor that plays GPU; `""` where it is not known to be one. */
export const softwareAdapter = signal("");
/** What the visitor has chosen. */
export const wantedDevice = signal<Runner | undefined>(undefined);
/** A processor runs its own kernels faster than those of a GPU that it plays. */
export const device = computed<Runner>(() => (webgpu.value === false ? "cpu" : (wantedDevice.value ?? (softwareAdapter.value ? "cpu" : "webgpu"))));
export const attempt = signal<Attempt | undefined>(undefined);

/** What would be run: the selected compilation with the script's own inputs. */
export const bundle = computed(() => {
  const id = selectedUnit.value?.compilation?.id;
  return id === undefined ? undefined : graphsRun.value?.bundles.get(id);
});

/** Why the selected compilation cannot be run: a sentence, where something is to be said. */
export const whyNotRun = computed(() => {
  const unit = selectedUnit.value;
  if (graphsRun.value?.log && !bundle.value) return "A log has the graphs, but no values to run them with.";
  if (bundle.value) {
    if (bundle.value.backward || unit?.compilation?.kind === "inference") return undefined;
    if (graphsRun.value?.log) return "The log has no backward of it.";
    return ranPart("backward") ? "The backward that ran had no values of its own to run it with again." : "The script has run no backward of it.";
  }
  if (unit && !unit.compilation) return whyNoTrace.value;
  if (unit?.compilation?.abandoned) return "Its trace was discarded.";
  if (ranPart("forward") || ranPart("inference")) return "Its inputs are tensor subclasses, or have no values: there is nothing to run it with.";
  return "Runs once the script has called a compiled function.";
});

function ranPart(part: string): boolean {
  const id = selectedUnit.value?.compilation?.id;
  return graphsRun.value?.report.runs.some((run) => run.compilation === id && run.part === part) ?? false;
}

/** What runs and trains; nothing is fetched before the first of either. */
export let gpu: Gpu | undefined;

/** Prepares for runs: nothing is fetched yet. */
export function prepareGpu(source: ModuleSource, createWorker: () => Worker): void {
  gpu = new Gpu(source, createWorker);
}

/** Asks for a GPU, once: browsers start processes for the answer, which a visitor who runs nothing need not wait behind. */
export function lookForGpu(): Promise<void> {
  return (asked ??= askForAdapter().then((info) => {
    softwareAdapter.value = info ? nameOfSoftware(info) : "";
    webgpu.value = info !== undefined;
  }));
}
let asked: Promise<void> | undefined;

type AdapterInfo = Partial<Record<"vendor" | "architecture" | "description" | "device", string>> & { isFallbackAdapter?: boolean };

async function askForAdapter(): Promise<AdapterInfo | undefined> {
  try {
    const adapter = await navigator.gpu?.requestAdapter();
    return adapter ? ((adapter as { info?: AdapterInfo }).info ?? {}) : undefined;
  } catch {
    return undefined;
  }
}

/** Processors that are known to play GPU. */
const SOFTWARE = /swiftshader|llvmpipe|lavapipe|basic render/i;

function nameOfSoftware({ vendor, architecture, description, device: name, isFallbackAdapter }: AdapterInfo): string {
  const words = [vendor, architecture, description, name].filter(Boolean).join(" ");
  return isFallbackAdapter || SOFTWARE.test(words) ? words || "unnamed" : "";
}

/** Runs what is selected. */
export async function runOnDevice(): Promise<void> {
  const what = bundle.value;
  const unit = selectedUnit.value;
  if (!gpu || !what || attempt.value?.state === "loading") return;
  attempt.value = { state: "loading", progress: undefined };
  try {
    const result = await gpu.run(what, await findDevice(), (progress) => {
      // The module goes on loading when the run that first wanted it is over.
      if (attempt.value?.state === "loading") attempt.value = { state: "loading", progress };
    });
    attempt.value = { state: "done", result, bundle: what, unit };
  } catch (error) {
    attempt.value = { state: "failed", message: messageOf(error) };
  }
}

/** Where to run. The browser's answer may be long in coming: until then, too, the run can be cancelled. */
export async function findDevice(): Promise<Runner> {
  await Promise.race([lookForGpu(), new Promise((_, reject) => (endSearch = reject))]);
  return device.value;
}
let endSearch: (why: Error) => void = () => {};

/** Ends the run, or the training, that goes on. */
export function cancelOnDevice(): void {
  const why = "Cancelled.";
  endSearch(new Error(why));
  gpu?.cancel(why);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
