// A lesson, as its Markdown says it (docs/lessons.md): steps with text, what each opens, a question to answer first, and the answer. Of Markdown
// it knows what lessons need; what it does not know stays text. Nothing becomes markup: this gives plain data.

export interface Lesson {
  title: string;
  /** What stands before the first step. */
  intro: readonly Block[];
  steps: readonly Step[];
}

export interface Step {
  title: string;
  blocks: readonly Block[];
  /** What is opened when the step is gone to: its first link to a script. */
  opens: Target | undefined;
  /** What is revealed when it is asked for. */
  answer: { blocks: readonly Block[]; opens: Target | undefined } | undefined;
}

export type Block =
  | { kind: "paragraph" | "question"; parts: readonly Part[] }
  | { kind: "list"; items: readonly (readonly Part[])[] }
  | { kind: "code"; text: string };

export type Part =
  | { kind: "text" | "code" | "strong" | "emphasis"; text: string }
  /** An address of the web. */
  | { kind: "link"; text: string; href: string }
  | { kind: "open"; text: string; target: Target };

/** What a step opens: a link of this page, by the part after `#`; or an example, looked at so. */
export type Target = { kind: "fragment"; fragment: string } | { kind: "example"; name: string; place: Place };

/** What is looked at of an example. */
export interface Place {
  backend?: string;
  stage?: string;
  graphs?: string;
  panes?: readonly string[];
  line?: number;
}

/** Characters of a lesson, and steps of it, that are taken. */
export const LONGEST_LESSON = 200_000;
const MOST_STEPS = 100;

/** A lesson; `undefined` where the text is none: it begins with a heading, and has steps. */
export function readLesson(text: string): Lesson | undefined {
  if (text.length > LONGEST_LESSON) return undefined;
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const first = lines.findIndex((line) => line.trim() !== "");
  const title = /^# +(.+?)\s*$/.exec(lines[first] ?? "")?.[1];
  if (!title) return undefined;
  const sections: { title: string; lines: string[] }[] = [{ title, lines: [] }];
  let inCode = false;
  for (const line of lines.slice(first + 1)) {
    if (/^```/.test(line)) inCode = !inCode;
    const heading = inCode ? undefined : /^## +(.+?)\s*$/.exec(line)?.[1];
    if (heading) sections.push({ title: heading, lines: [] });
    else sections.at(-1)?.lines.push(line);
  }
  const [intro, ...steps] = sections;
  if (!intro || steps.length === 0) return undefined;
  return { title, intro: blocks(intro.lines), steps: steps.slice(0, MOST_STEPS).map(step) };
}

function step({ title, lines }: { title: string; lines: readonly string[] }): Step {
  const from = lines.findIndex((line) => /^\s*<details>/.test(line));
  const to = lines.findIndex((line, at) => at > from && /^\s*<\/details>/.test(line));
  const asked = from < 0 ? blocks(lines) : [...blocks(lines.slice(0, from)), ...(to < 0 ? [] : blocks(lines.slice(to + 1)))];
  if (from < 0) return { title, blocks: asked, opens: firstTarget(asked), answer: undefined };
  // What stands in the tags' lines is the answer's button, which this page calls by its own name.
  const inside = lines.slice(from, to < 0 ? undefined : to).map((line) => line.replace(/<details>\s*/, "").replace(/<summary>.*<\/summary>/, ""));
  const answer = blocks(inside);
  return { title, blocks: asked, opens: firstTarget(asked), answer: { blocks: answer, opens: firstTarget(answer) } };
}

function firstTarget(blocks: readonly Block[]): Target | undefined {
  for (const block of blocks) {
    if (block.kind === "code") continue;
    for (const part of block.kind === "list" ? block.items.flat() : block.parts) if (part.kind === "open") return part.target;
  }
  return undefined;
}

function blocks(lines: readonly string[]): Block[] {
  const found: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? "";
    const end = (is: (line: string) => boolean): number => {
      let last = at + 1;
      while (last < lines.length && is(lines[last] ?? "")) last += 1;
      return last;
    };
    if (line.trim() === "") at += 1;
    else if (/^```/.test(line)) {
      const last = end((next) => !/^```/.test(next));
      found.push({ kind: "code", text: lines.slice(at + 1, last).join("\n") });
      at = last + 1;
    } else if (/^>/.test(line)) {
      const last = end((next) => /^>/.test(next));
      found.push({ kind: "question", parts: parts(lines.slice(at, last).map((one) => one.replace(/^> ?/, "")).join(" ")) });
      at = last;
    } else if (/^[-*] /.test(line)) {
      const last = end((next) => /^([-*] | {2,}\S)/.test(next));
      const items: string[] = [];
      for (const one of lines.slice(at, last)) {
        if (/^[-*] /.test(one)) items.push(one.slice(2));
        else items.push(`${items.pop() ?? ""} ${one.trim()}`);
      }
      found.push({ kind: "list", items: items.map(parts) });
      at = last;
    } else {
      const last = end((next) => next.trim() !== "" && !/^(```|>|[-*] )/.test(next));
      found.push({ kind: "paragraph", parts: parts(lines.slice(at, last).map((one) => one.trim()).join(" ")) });
      at = last;
    }
  }
  return found;
}

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]*)\]\(([^()\s]+)\)/g;

function parts(text: string): Part[] {
  const found: Part[] = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, strong, emphasis, label, address] = match;
    const part: Part | undefined =
      code !== undefined
        ? { kind: "code", text: code }
        : strong !== undefined
          ? { kind: "strong", text: strong }
          : emphasis !== undefined
            ? { kind: "emphasis", text: emphasis }
            : linked(label ?? "", address ?? "");
    if (!part) continue;
    if (match.index > at) found.push({ kind: "text", text: text.slice(at, match.index) });
    found.push(part);
    at = match.index + whole.length;
  }
  if (at < text.length) found.push({ kind: "text", text: text.slice(at) });
  return found;
}

function linked(text: string, address: string): Part | undefined {
  const target = targetOf(address);
  if (target) return { kind: "open", text: text || "Open it", target };
  return /^https?:\/\//.test(address) && URL.canParse(address) ? { kind: "link", text: text || address, href: address } : undefined;
}

/** What an address opens in this page: `example:NAME?stage=joint`, or a link that Share gave, of whichever host. */
export function targetOf(address: string): Target | undefined {
  const fragment = /#v\d+\/[\w-]+$/.exec(address)?.[0];
  if (fragment) return { kind: "fragment", fragment };
  const example = /^example:(\w+)(?:\?(.*))?$/.exec(address);
  if (!example?.[1]) return undefined;
  const options = new URLSearchParams(example[2] ?? "");
  const place: Place = {};
  for (const name of ["backend", "stage", "graphs"] as const) {
    const value = options.get(name);
    if (value) place[name] = value;
  }
  const panes = options.get("panes");
  const line = Number(options.get("line"));
  if (panes) place.panes = panes.split(",");
  if (Number.isInteger(line) && line > 0) place.line = line;
  return { kind: "example", name: example[1], place };
}
