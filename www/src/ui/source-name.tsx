// What the script calls a graph input, beside the name that it has in the graphs: `primals_17` is `model.blocks.3.attn.qkv.weight`.
import type { JSX } from "preact";
import { sourceNames } from "../state/unit";

/** The source of a graph input; nothing of other values. It comes from the script, and is text. */
export function SourceName({ of }: { of: string }): JSX.Element | null {
  const source = sourceNames.value.get(of);
  return source ? <span class="muted code source-name">{source}</span> : null;
}
