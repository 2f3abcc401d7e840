// Training the selected compilation on a device: its recipe, and what is known of the steps so far.
import { computed, signal } from "@preact/signals";
import type { Gpu, TrainingHandlers } from "../engine/gpu";
import type { Progress } from "../engine/module";
import type { Bundle, Named, Training } from "../generated/report";
import { attempt, bundle, findDevice, gpu, messageOf } from "./gpu";

export interface Descent {
  phase: "building" | "running" | "resting" | "failed";
  bundle: Bundle;
  progress?: Progress;
  training?: Training;
  /** The loss before each step. The list grows in place; `taken` says how far. */
  losses: number[];
  taken: number;
  /** How many are to be taken in all. */
  wanted: number;
  /** Seconds that the steps took. */
  seconds: number;
  /** Parameters after the last step, once the steps rest. */
  parameters?: readonly Named[];
  message?: string;
}

export const STEPS = [1, 10, 100, 1000, 10000] as const;

export const steps = signal<number>(100);
export const lr = signal(0.1);
export const momentum = signal(0);
/** Names of parameters that are to stay as they are. */
export const frozen = signal<ReadonlySet<string>>(new Set());
export const descent = signal<Descent | undefined>(undefined);

/** Names of the inputs that can be trained. */
export const trainable = computed(() => {
  const what = bundle.value;
  return what?.backward ? what.parameters.flatMap((index) => what.inputs[index]?.name ?? []) : [];
});
/** Whether steps are being taken, or built. */
export const descending = computed(() => descent.value?.phase === "building" || descent.value?.phase === "running");

function update(change: Partial<Descent>): void {
  if (descent.value) descent.value = { ...descent.value, ...change };
}

const handlers: TrainingHandlers = {
  onReady: (training) => update({ phase: "running", training }),
  onLosses: (losses, seconds) => {
    const now = descent.value;
    if (!now) return;
    now.losses.push(...losses);
    update({ taken: now.losses.length, seconds: now.seconds + seconds });
  },
};

async function finish(parameters: Promise<Named[]>): Promise<void> {
  try {
    update({ phase: "resting", parameters: await parameters });
  } catch (error) {
    update({ phase: "failed", message: messageOf(error) });
  }
}

/** Builds a training step and takes steps from where the script began. */
export async function train(): Promise<void> {
  const what = bundle.value;
  if (!gpu || !what || descending.value || attempt.value?.state === "loading") return;
  const parameters = trainable.value.filter((name) => !frozen.value.has(name));
  const recipe = { parameters, loss: null, lr: lr.value, momentum: momentum.value };
  descent.value = { phase: "building", bundle: what, losses: [], taken: 0, wanted: steps.value, seconds: 0 };
  const begin = async (runs: Gpu): Promise<Named[]> =>
    runs.train({ bundle: what, recipe, device: await findDevice(), steps: steps.value }, handlers, (progress) => {
      if (descent.value?.phase === "building") update({ progress });
    });
  await finish(begin(gpu));
}

/** Takes further steps from where it rests. */
export async function trainOn(): Promise<void> {
  if (!gpu || descent.value?.phase !== "resting") return;
  update({ phase: "running", wanted: descent.value.taken + steps.value });
  await finish(gpu.continue(steps.value, lr.value, handlers));
}

export function pauseTraining(): void {
  gpu?.pause();
}

/** Another step size: at once, where steps are being taken. */
export function setLr(value: number): void {
  lr.value = value;
  if (descending.value) gpu?.adjust(value);
}
