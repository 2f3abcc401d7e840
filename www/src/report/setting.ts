// A script with one of PyTorch's settings: `torch._dynamo.config.capture_scalar_outputs = True`.

/** The script with the setting: where it makes it already, there; else behind the imports that it begins with. */
export function withSetting(program: string, setting: string): string {
  const name = setting.slice(0, setting.indexOf("=")).trim();
  const lines = program.split("\n");
  let isSet = false;
  const replaced = lines.map((line) => {
    const [, indent, target] = /^(\s*)([\w.]+)\s*=(?!=)/.exec(line) ?? [];
    if (target !== name) return line;
    isSet = true;
    return `${indent ?? ""}${setting}`;
  });
  if (isSet) return replaced.join("\n");
  const { end, hasTorch } = imports(lines);
  lines.splice(end, 0, ...(hasTorch ? [] : ["import torch"]), setting);
  return lines.join("\n");
}

/** Where the imports end that a script begins with, and whether they give it the name `torch`. */
function imports(lines: readonly string[]): { end: number; hasTorch: boolean } {
  let end = 0;
  let hasTorch = false;
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    if (/^\s*(#|$)/.test(line)) continue;
    const quotes = /^[rRuU]?("""|'''|"|')/.exec(line);
    if (quotes?.[1] !== undefined && end === 0) {
      // What describes the script stays its first statement.
      const mark = quotes[1];
      if (!line.slice(quotes[0].length).includes(mark)) while (at + 1 < lines.length && !(lines[(at += 1)] ?? "").includes(mark));
      end = at + 1;
      continue;
    }
    if (!/^(import|from)\s/.test(line)) break;
    hasTorch ||= /^import\s+(.*,\s*)?torch(\.\w+)*\s*(,|;|#|$)/.test(line);
    const open = (text: string): number => text.replace(/#.*/, "").split("(").length - text.replace(/#.*/, "").split(")").length;
    let depth = open(line);
    while ((depth > 0 || (lines[at] ?? "").endsWith("\\")) && at + 1 < lines.length) depth += open(lines[(at += 1)] ?? "");
    end = at + 1;
  }
  return { end, hasTorch };
}
