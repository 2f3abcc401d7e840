// What a visitor may choose besides the script. Every option has a default, that links leave out.
import { signal } from "@preact/signals";
import { quote, quoteAll } from "../report/quote";

/** What a plain `torch.compile` stands for, by PyTorch's names. */
export const BACKENDS = ["aot_eager", "aot_eager_default_partitioner", "inductor", "eager"] as const;
/** What chooses the values that a forward saves. */
export const PARTITIONERS = ["min-cut", "default"] as const;
/** Seconds after which a script is stopped. */
export const LIMITS = [5, 10, 30, 60, 300] as const;

export interface Options {
  backend: (typeof BACKENDS)[number];
  limit: (typeof LIMITS)[number];
  /** Whether what compiled functions give is compared with eager mode. */
  check: boolean;
  /** Whether there is a CUDA device, pretended: its tensors are computed on the CPU. */
  cuda: boolean;
}

export const DEFAULTS: Options = { backend: "aot_eager", limit: 10, check: false, cuda: false };

/** What is chosen. */
export const options = signal<Options>({ ...DEFAULTS });

const CHOICES: { readonly [K in keyof Options]: readonly Options[K][] } = { backend: BACKENDS, limit: LIMITS, check: [false, true], cuda: [false, true] };

/** The partitioner of a backend; `undefined` where nothing is partitioned. */
export function partitionerOf(backend: Options["backend"]): (typeof PARTITIONERS)[number] | undefined {
  if (backend === "eager") return undefined;
  return backend === "aot_eager_default_partitioner" ? "default" : "min-cut";
}

/** The backend that partitions so. */
export function withPartitioner(partitioner: (typeof PARTITIONERS)[number]): Options["backend"] {
  return partitioner === "min-cut" ? "aot_eager" : "aot_eager_default_partitioner";
}

/** The options that are not their defaults. */
export function withoutDefaults(options: Options): Partial<Options> {
  const entries = Object.entries(options).filter(([key, value]) => DEFAULTS[key as keyof Options] !== value);
  return Object.fromEntries(entries) as Partial<Options>;
}

/** Reads options from a link or from storage: what is not known is said, and its default taken. */
export function readOptions(raw: unknown): { options: Options; notes: string[] } {
  const options: Options = { ...DEFAULTS };
  const notes: string[] = [];
  if (raw === undefined || raw === null) return { options, notes };
  if (typeof raw !== "object") return { options, notes: ["Its options cannot be read; defaults are used."] };
  const unknown: string[] = [];
  for (const [key, value] of Object.entries(raw)) {
    // Own properties alone: every object inherits a `constructor`.
    if (!Object.hasOwn(CHOICES, key)) {
      unknown.push(key);
    } else if (!(CHOICES[key as keyof Options] as readonly unknown[]).includes(value)) {
      notes.push(`It sets ${key} to ${quote(JSON.stringify(value))}, which this page does not know; ${DEFAULTS[key as keyof Options]} is used.`);
    } else {
      Object.assign(options, { [key]: value });
    }
  }
  if (unknown.length > 0) notes.push(`It sets ${unknown.length > 1 ? "options" : "an option"} this page does not have: ${quoteAll(unknown)}.`);
  return { options, notes };
}
