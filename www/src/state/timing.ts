// How long a step of the selected compilation takes, on each device.
import { computed, signal } from "@preact/signals";
import type { Progress } from "../engine/module";
import type { Runner } from "../engine/protocol";
import type { Bundle, Timed } from "../generated/report";
import type { Unit } from "../report/stages";
import { attempt, bundle, findDevice, gpu, messageOf } from "./gpu";
import { descending, trainable } from "./training";
import { selectedUnit } from "./unit";

export interface Timing {
  /** What was timed, with its unit: the selected one may be another by now. */
  bundle: Bundle;
  unit: Unit | undefined;
  /** Whether a step ends with an update of the parameters. */
  updates: boolean;
  timed: Partial<Record<Runner, Timed>>;
  /** The device that takes steps now. */
  at?: Runner | undefined;
  progress?: Progress;
  message?: string;
}

/** Seconds for which steps are taken on each device. */
const SECONDS = 1;

export const timing = signal<Timing | undefined>(undefined);
/** Whether a step is to end with an update of the parameters, as SGD makes it. */
export const updates = signal(false);
export const isTiming = computed(() => timing.value?.at !== undefined);

function update(change: Partial<Timing>): void {
  if (timing.value) timing.value = { ...timing.value, ...change };
}

/** Times steps on the device that is chosen, and on the CPU beside it. */
export async function timeSteps(): Promise<void> {
  const what = bundle.value;
  if (!gpu || !what || descending.value || isTiming.value || attempt.value?.state === "loading") return;
  const withUpdates = updates.value && trainable.value.length > 0;
  const recipe = withUpdates ? { parameters: [...trainable.value], loss: null, lr: 0.05, momentum: 0 } : null;
  timing.value = { bundle: what, unit: selectedUnit.value, updates: withUpdates, timed: {}, at: "cpu" };
  try {
    const chosen = await findDevice();
    for (const device of new Set<Runner>([chosen, "cpu"])) {
      update({ at: device });
      const timed = await gpu.time({ bundle: what, recipe, device, seconds: SECONDS }, (progress) => {
        if (isTiming.value) update({ progress });
      });
      update({ timed: { ...timing.value?.timed, [device]: timed } });
    }
    update({ at: undefined });
  } catch (error) {
    update({ at: undefined, message: messageOf(error) });
  }
}
