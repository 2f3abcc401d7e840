// A made-up report of a stack of transformer blocks, as large as wanted: what real ones look like to the page.

/** Forward calls of a block: name, module below the block, inputs by name (`in` is the block's), parameters of its own. */
const BLOCK = [
  ["native_layer_norm", "ln_1", ["in"], 2],
  ["getitem", "ln_1", ["native_layer_norm"], 0],
  ["t", "attn.qkv", [], 1],
  ["addmm", "attn.qkv", ["getitem", "t"], 1],
  ["split", "attn", ["addmm"], 0],
  ["q", "attn", ["split"], 0],
  ["k", "attn", ["split"], 0],
  ["v", "attn", ["split"], 0],
  ["transpose", "attn", ["k"], 0],
  ["bmm", "attn", ["q", "transpose"], 0],
  ["masked", "attn", ["bmm", "mask"], 0],
  ["softmax", "attn", ["masked"], 0],
  ["bmm_1", "attn", ["softmax", "v"], 0],
  ["t_1", "attn.proj", [], 1],
  ["addmm_1", "attn.proj", ["bmm_1", "t_1"], 1],
  ["add", "", ["in", "addmm_1"], 0],
  ["native_layer_norm_1", "ln_2", ["add"], 2],
  ["getitem_1", "ln_2", ["native_layer_norm_1"], 0],
  ["t_2", "mlp.0", [], 1],
  ["addmm_2", "mlp.0", ["getitem_1", "t_2"], 1],
  ["gelu", "mlp.1", ["addmm_2"], 0],
  ["t_3", "mlp.2", [], 1],
  ["addmm_3", "mlp.2", ["gelu", "t_3"], 1],
  ["add_1", "", ["add", "addmm_3"], 0],
];

/** The joint graph of `blocks` blocks. */
export function transformer(blocks) {
  const nodes = [];
  const push = (node) => {
    nodes.push({
      id: nodes.length, op: "call_function", target: "aten.op.default", args: "()", kwargs: "{}", text_line: null, dtype: "float32",
      shape: ["4", "16"], stride: ["16", "1"], bytes: 256, span: null, module_path: "", is_backward: false, mutates: false, seq_nr: null, ...node,
    });
    return nodes.length - 1;
  };
  const placeholder = (name) => push({ name, op: "placeholder", target: name, inputs: [] });
  let primals = 0;
  const primal = () => placeholder(`primals_${(primals += 1)}`);
  const parameters = Array.from({ length: blocks }, () => BLOCK.map(([, , , own]) => Array.from({ length: own }, primal)));
  const [x, mask] = [primal(), primal()];
  const tangent = placeholder("tangents_1");
  let at = x;
  let seq = 0;
  const forward = [];
  for (let block = 0; block < blocks; block += 1) {
    const made = new Map([["in", at], ["mask", mask]]);
    BLOCK.forEach(([name, path, inputs], call) => {
      seq += 1;
      const module_path = [`layers.${block}`, path].filter(Boolean).join(".");
      const span = { line: 10 + call, column: 8, end_line: 10 + call, end_column: 30 };
      const reads = [...inputs.map((input) => made.get(input)), ...parameters[block][call]];
      const id = push({ name: `${name}_b${block}`, target: `aten.${name.replace(/_\d+$/, "")}.default`, inputs: reads, module_path, span, seq_nr: seq });
      made.set(name, id);
      forward.push({ id, path: module_path, span, inputs: reads, seq });
      at = id;
    });
  }
  let grad = tangent;
  const gradients = [];
  for (const { id, path, span, inputs, seq: number } of [...forward].reverse()) {
    const saved = inputs.filter((input) => input !== mask);
    const more = { is_backward: true, module_path: path, span, seq_nr: number };
    grad = push({ ...more, name: `${nodes[id].name}_backward`, inputs: [grad, ...saved.slice(0, 2)] });
    for (const input of inputs.filter((input) => nodes[input].op === "placeholder" && input !== mask && input !== x)) {
      gradients.push(push({ ...more, name: `grad_${nodes[input].name}`, inputs: [grad] }));
    }
  }
  push({ name: "output", op: "output", target: "output", inputs: [at, ...gradients], args: `(${[at, ...gradients].map((id) => nodes[id].name).join(", ")})` });
  return { readable: nodes.map(({ name }) => `    ${name} = ...`).join("\n"), nodes };
}

/** The events of a run that compiled such a graph: what the page gets from the interpreter's worker. */
export function eventsOf(blocks) {
  const joint = transformer(blocks);
  const saved = joint.nodes.filter(({ name }) => /^(getitem|gelu|add|softmax)_/.test(name) && !name.endsWith("_backward"));
  const forward = joint.nodes.filter(({ op, is_backward }) => op !== "output" && !is_backward);
  const returned = { ...joint.nodes.at(-1), args: `(${forward.at(-1).name},)`, inputs: [forward.at(-1).id] };
  const functionalized = { readable: joint.readable, nodes: [...forward, returned] };
  const compilation = { id: 0, region: null, kind: "joint", functionalized, joint, saved, partition: { partitioner: "default_partition", recomputed: [], decisions: [] }, seq_nr: [] };
  return [
    { event: "compiled", compilation },
    { event: "finished", exception: null, seconds: 0.1 },
  ];
}
