// What the editor knows of PyTorch's names: the kept list of what the playground has, and which name an expression in a script is.
import list from "../generated/names.txt?raw";

/** A name of PyTorch's: the last part of its path, how it is called, what it does, and how far it is supported. */
export interface Known {
  name: string;
  signature: string;
  words: string;
  /** Of operators: how they run on the CPU, whether they have a derivative, how they run on the GPU. */
  support?: { eager: string; derivative: string; gpu: string };
}

/** By module (or `torch.Tensor`), its names. */
export type Names = ReadonlyMap<string, ReadonlyMap<string, Known>>;

export function parse(text: string): Names {
  const names = new Map<string, Map<string, Known>>();
  for (const line of text.split("\n")) {
    const [path = "", signature = "", words = "", eager, derivative, gpu] = line.split("\t");
    const dot = path.lastIndexOf(".");
    if (dot < 0) continue;
    const parent = path.slice(0, dot);
    const known: Known = { name: path.slice(dot + 1), signature, words };
    if (eager && derivative && gpu) known.support = { eager, derivative, gpu };
    let members = names.get(parent);
    if (!members) names.set(parent, (members = new Map()));
    members.set(known.name, known);
  }
  return names;
}

let parsed: Names | undefined;
export function names(): Names {
  return (parsed ??= parse(list));
}

const IMPORT = /^[ \t]*import[ \t]+(.+)$/gm;
const FROM = /^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+(?:\(([^)]*)\)|(.+))$/gm;
const ITEM = /^([\w.]+)(?:\s+as\s+(\w+))?$/;

/** What the names that a script imports stand for: `F` for `torch.nn.functional`. */
export function imports(script: string): Map<string, string> {
  const found = new Map<string, string>();
  const each = (items: string, take: (path: string, alias: string | undefined) => void): void => {
    for (const item of items.replace(/#.*$/gm, "").split(",")) {
      const [, path, alias] = ITEM.exec(item.trim()) ?? [];
      if (path) take(path, alias);
    }
  };
  for (const [, items = ""] of script.matchAll(IMPORT)) {
    // `import torch.nn` binds `torch`.
    each(items, (path, alias) => (alias ? found.set(alias, path) : found.set(path.split(".")[0] ?? path, path.split(".")[0] ?? path)));
  }
  for (const [, module = "", inParentheses, plain] of script.matchAll(FROM)) {
    each(inParentheses ?? plain ?? "", (name, alias) => found.set(alias ?? name, `${module}.${name}`));
  }
  return found;
}

/** A dotted expression: names, or something that ends in a bracket, then names. */
const DOTTED = /(?:([A-Za-z_]\w*)|[)\]])((?:\.[A-Za-z_]\w*)*)\.?$/;

/**
 * Whose members stand after this text, which ends in a dot: a module of PyTorch's, or `torch.Tensor` where it may be a tensor;
 * nothing where it is anything else.
 */
export function owner(before: string, imported: ReadonlyMap<string, string>, known: Names): string | undefined {
  const match = DOTTED.exec(before);
  if (!match) return undefined;
  const [, first, rest = ""] = match;
  if (first === undefined) return "torch.Tensor";
  const module = imported.get(first);
  if (module !== undefined) {
    const path = module + rest;
    if (known.has(path)) return path;
    // A class or function of a module: what it gives is not known.
    return undefined;
  }
  // `self.` is a module's own; what is below it, and any other variable, may be a tensor.
  return first === "self" && !rest ? undefined : "torch.Tensor";
}

/** The name at a place of a line, with what stands before it: `F` and `relu` of `F.relu(x)`. */
export function nameAt(line: string, column: number): { from: number; to: number; name: string; before: string } | undefined {
  const word = /\w/;
  let [from, to] = [column, column];
  while (from > 0 && word.test(line[from - 1] ?? "")) from--;
  while (to < line.length && word.test(line[to] ?? "")) to++;
  const name = line.slice(from, to);
  return /^[A-Za-z_]/.test(name) ? { from, to, name, before: line.slice(0, from) } : undefined;
}

/** What is known of the name at a place of a script's line. */
export function lookup(line: string, column: number, script: string, known: Names): { path: string; known: Known; from: number; to: number } | undefined {
  const at = nameAt(line, column);
  if (!at) return undefined;
  const imported = imports(script);
  const inString = /^[^"'#]*(["'])(?:(?!\1).)*$|#/.test(at.before);
  if (inString) return undefined;
  const parent = at.before.endsWith(".") ? owner(at.before, imported, known) : imported.get(at.name)?.replace(/\.\w+$/, "");
  const name = at.before.endsWith(".") ? at.name : imported.get(at.name)?.split(".").at(-1);
  const found = parent && name ? known.get(parent)?.get(name) : undefined;
  return found && parent ? { path: `${parent}.${found.name}`, known: found, from: at.from, to: at.to } : undefined;
}

/** How far something is supported, in words. */
export function support({ support }: Known): string | undefined {
  if (!support) return undefined;
  const eager = { kernel: "a kernel of its own", view: "a view", composed: "composed of others" }[support.eager] ?? support.eager;
  const derivative = { yes: "differentiable", composed: "differentiable", none: "no gradient", no: "no derivative yet" }[support.derivative];
  const gpu = { kernel: "on the GPU", view: "on the GPU", composed: "on the GPU as far as its parts are", "on CPU": "on the CPU only" }[support.gpu];
  return [eager, derivative, gpu].filter(Boolean).join(" · ");
}
