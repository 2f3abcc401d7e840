// What a script calls the inputs of a graph, where its captured region says so.
import type { Unit } from "./stages";

/** `G_model_modules_hidden_parameters_weight_` is `model.hidden.weight`: PyTorch's name of a source, read back. */
export function sourceName(placeholder: string): string {
  const inner = /^[GL]_(.+?)_?$/.exec(placeholder)?.[1];
  return inner ? inner.replaceAll(/_(?:modules|parameters|buffers)_/g, ".") : placeholder;
}

/** Names of a unit's inputs as the script has them, by the names they have in its graphs. */
export function labels(unit: Unit | undefined): ReadonlyMap<string, string> {
  const inputs = (stage: "captured" | "joint" | "inference"): string[] =>
    unit?.stages[stage]?.nodes.filter(({ op }) => op === "placeholder").map(({ name, target }) => (stage === "captured" ? target : name)) ?? [];
  const captured = inputs("captured");
  const traced = [...inputs("joint"), ...inputs("inference")].filter((name) => !name.startsWith("tangents_"));
  // Inputs that share memory are merged while tracing: then there is no telling which is which.
  if (captured.length !== traced.length) return new Map();
  return new Map(traced.map((name, index) => [name, sourceName(captured[index] ?? name)]));
}
