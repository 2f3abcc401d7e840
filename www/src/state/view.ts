// How things are looked at.
import { signal } from "@preact/signals";

/** Whether long lines of graphs are wrapped. */
export const wrapGraphs = signal(false);
