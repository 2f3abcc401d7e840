// The terms that the page uses, with PyTorch's meaning. Captions link to them.

export const GLOSSARY = {
  activations: ["activations", "Tensors that the forward computes and the backward reads. Saving one keeps its storage alive until then; views share one storage."],
  budget: ["memory budget", "torch._functorch.config.activation_memory_budget, 0 to 1: which share of the activations may be saved. What is over it is recomputed."],
  cut: ["min-cut", "Every value is an edge that costs what saving it costs. The cheapest cut between forward and backward says what is saved."],
  donated: ["donated buffer", "A saved value that belongs to the backward alone: no input, no output. The backward may overwrite it."],
  break: ["graph break", "Dynamo ends a graph where it cannot trace on, lets Python do one thing, and goes on with another graph."],
  guard: ["guard", "A condition that a call must meet for a cached graph to be used."],
  joint: ["joint graph", "Forward and backward in one graph, before the partitioner splits it."],
  partitioner: ["partitioner", "Splits a joint graph into forward and backward, and decides what is saved for backward and what is recomputed."],
  peak: ["peak", "Most bytes alive at once through forward and backward, parameters and inputs included."],
  primals: ["primals", "The inputs of a graph: parameters, buffers and what the function is called with."],
  recompile: ["recompile", "A frame is compiled again after a cache miss: no entry's guards pass. torch._dynamo.config.recompile_limit says how often."],
  recomputed: ["recomputed", "The forward computes it, and the backward once more, instead of saving it."],
  saved: ["saved for backward", "The forward returns it beside its outputs, and the backward takes it."],
  tangents: ["tangents", "The gradients that come in: one for each output that requires grad."],
  validation: [
    "translation validation",
    "A proof that the guards of a cache entry imply every condition that tracing asked for, or sizes for which they do not.",
  ],
} as const satisfies Record<string, readonly [string, string]>;

export type Term = keyof typeof GLOSSARY;
