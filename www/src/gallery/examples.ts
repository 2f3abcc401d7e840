// The examples: each runs as it is, teaches one idea, and says what to try.
const SOURCES = import.meta.glob<string>("./examples/*.py", { query: "?raw", import: "default", eager: true });

/** What the examples are about, in the order in which they are gone through. */
export const TOPICS = ["What is saved", "What is recomputed", "Functional graphs", "What Dynamo captures", "Of one's own"] as const;

export interface Example {
  topic: (typeof TOPICS)[number];
  /** Its file in `examples/`, without the ending. */
  name: string;
  title: string;
  /** The idea. */
  idea: string;
  /** A thing to try. */
  attempt: string;
}

export const EXAMPLES: readonly Example[] = [
  {
    topic: "What is saved",
    name: "mlp",
    title: "What an MLP saves",
    idea: "The forward saves activations for the backward: here the input of both layers and a few values of GELU. The saved values name each, with its bytes and its line. Two more are not saved: the backward recomputes them.",
    attempt: "Choose the default partitioner in Options: what was recomputed is saved, 2 KiB more.",
  },
  {
    topic: "What is recomputed",
    name: "chain",
    title: "A chain that min-cut recomputes",
    idea: "The backward of each elementwise operator needs its input: five tensors to save. The min-cut partitioner saves the first alone and computes the rest again in the backward, since that costs less than memory traffic.",
    attempt: "Choose the default partitioner in Options, and compare the saved bytes.",
  },
  {
    topic: "Functional graphs",
    name: "inplace",
    title: "In-place writes become functional",
    idea: "The traced graphs write nothing in place: a write through a view is a scatter onto its base, and other views are taken anew. A write to an argument is a copy at the end.",
    attempt: "Compare Captured with Joint; then remove .clone() and read the error.",
  },
  {
    topic: "What is saved",
    name: "attention",
    title: "Attention by hand",
    idea: "Views, transposes, a causal mask and a softmax: most nodes move no data, and two batched products do the work. The backward wants softmax's result, not its input.",
    attempt: "Double the length of x and see which saved values grow fourfold.",
  },
  {
    topic: "What Dynamo captures",
    name: "training",
    title: "A training loop of one's own",
    idea: "The function is compiled by the first step, and every further step runs the same two graphs. The timeline counts them; the plot draws what is printed.",
    attempt: "Open Plot, then let step 30 use half of the points: see which guard fails.",
  },
  {
    topic: "Functional graphs",
    name: "detach",
    title: "detach and no_grad",
    idea: "What runs under no_grad, or is behind detach, has no backward: the backward graph never mentions the teacher. What they computed is saved as plain values, where the student's gradient needs it.",
    attempt: "Remove torch.no_grad() and count the nodes of the backward.",
  },
  {
    topic: "What is saved",
    name: "cross_entropy",
    title: "Softmax cross-entropy",
    idea: "Written out, the loss keeps exponentials and sums for its backward. The gradient still comes to softmax minus one-hot.",
    attempt: "Put torch.nn.functional.cross_entropy in its place: how much less is saved?",
  },
  {
    topic: "What Dynamo captures",
    name: "graph_break",
    title: "A graph break",
    idea: "A branch on a tensor's value needs the number while Python runs, so capture ends there and goes on after it. Every piece has a forward and a backward of its own.",
    attempt: "Write torch.where in the place of the if, and see a single graph.",
  },
  {
    topic: "What Dynamo captures",
    name: "dynamic",
    title: "Dynamic shapes",
    idea: "A second number of rows fails the guard on the first. The function is compiled again with the size as a symbol, and a third size finds that graph ready.",
    attempt: "Add dynamic=False to torch.compile and count the compilations.",
  },
  {
    topic: "What is recomputed",
    name: "checkpoint",
    title: "Checkpointing",
    idea: "What runs inside checkpoint is tagged to be computed again in the backward, and only its inputs are saved. The same block without it saves its activations.",
    attempt: "Wrap the second block too, and compare the saved bytes.",
  },
  {
    topic: "What is recomputed",
    name: "dropout",
    title: "Dropout and its mask",
    idea: "The backward must zero what the forward zeroed. The partitioner never draws random numbers twice: the mask is saved, however cheap it was.",
    attempt: "Set p=0.0, or call the function under torch.no_grad().",
  },
  {
    topic: "Of one's own",
    name: "custom_function",
    title: "A backward of one's own",
    idea: "An autograd.Function's own backward is traced into the joint graph, in the place of the derivative PyTorch would use. Nothing is saved for clamp here: this backward does not ask for it.",
    attempt: "Save x with ctx.save_for_backward and zero the gradient where it was clipped.",
  },
  {
    topic: "Of one's own",
    name: "aot_function",
    title: "A compiler of one's own",
    idea: "aot_function hands the partitioned graphs to functions of yours, as torch.fx modules. They may print, rewrite or run them.",
    attempt: "Print graph.graph in the place of graph.code.",
  },
];

export function sourceOf({ name }: Example): string {
  return SOURCES[`./examples/${name}.py`] ?? "";
}

/** The examples of a topic, as a lesson. */
export function lessonOf(topic: (typeof TOPICS)[number]): string {
  const steps = EXAMPLES.filter((example) => example.topic === topic).map(({ name, title, idea, attempt }) => `## ${title}\n\n[The script](example:${name}). ${idea}\n\nTry: ${attempt}\n`);
  return `# ${topic}\n\n${steps.join("\n")}`;
}
