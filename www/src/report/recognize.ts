// Whether a text is what PyTorch writes of its compilations, and no script. The reader decides; this says whom to ask.

/** What every form of it has within its first characters, or none of its graphs would be whole. */
const SIGNS: readonly RegExp[] = [
  // Records of a trace, lines of a log: `V1125 21:58:31.488000 11393 torch/...`, `[2023-04-10 12:28:09,922] torch._functorch...`.
  /^[>\s]*(?:\[rank\d+\]:\s*)?[VIDWE]\d{4} \d\d:\d\d:\d\d/m,
  /^[>\s]*(?:\[rank\d+\]:\s*)?\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+\].*torch/m,
  /\[__(?:aot|graph|guards|recompiles|compiled_autograd|bytecode|output|post_grad)\w*\]/,
  // Headings and heads of graphs.
  /TRACED GRAPH/,
  /={3,} (?:Joint|Forward|Backward|BEFORE|AFTER|Compiled autograd)\b[^\n]*={3,}/i,
  /def forward\(self, (?:primals|tangents|arg\d+_\d+|L_|s\d+)/,
  /^[>\s]*(?:primals|tangents)_\d+\s*:\s*"?\w+\[/m,
  /^def load_args\(reader\)/m,
  /aten::\w+\([^\n]*\)\s*->\s*t?\$/,
];
/** Characters that are looked at. */
const LOOKED_AT = 400_000;

export function looksLikeLog(text: string): boolean {
  const start = text.slice(0, LOOKED_AT);
  return SIGNS.some((sign) => sign.test(start));
}

/** Whether bytes begin as an archive does, or as text in UTF-16 that consoles write. */
export function isPacked(bytes: Uint8Array): boolean {
  const [a, b] = bytes;
  return (a === 0x1f && b === 0x8b) || (a === 0x50 && b === 0x4b) || (a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff);
}
