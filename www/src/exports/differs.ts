// A report of what this page shows otherwise than PyTorch: everything that is needed to see it again, and a place for what PyTorch prints.
import type { Build } from "../build";
import type { ScriptFile } from "../generated/report";
import type { Options } from "../state/options";
import { withoutDefaults } from "../state/options";
import { fenced } from "./text";

export interface Differs {
  program: string;
  /** Files beside it. */
  files?: readonly ScriptFile[];
  options: Options;
  /** The link that shows it; left out where it is long. */
  href: string;
  /** The release of PyTorch that is imitated. */
  pytorch: string;
  build: Build;
  browser: string;
  /** What the script printed, and how it ended. */
  printed: string;
  /** Its graphs, as PyTorch logs them; empty where nothing was compiled. */
  graphs: string;
}

/** Characters of a part that the report need not have whole. */
const MOST_PRINTED = 8000;
const MOST_GRAPHS = 30_000;
const MOST_LINK = 6000;

const GRAPHS = "graph_code,aot_joint_graph,aot_graphs";

/** What makes PyTorch run the script as it ran here: a plain `torch.compile` takes the backend that was chosen. */
export function command(backend: Options["backend"]): string {
  const logs = `TORCH_LOGS="${GRAPHS}"`;
  if (backend === "inductor") return `${logs} python script.py`;
  const patched = `torch.compile = functools.partial(torch.compile, backend='${backend}')`;
  return `${logs} python -c "import functools, runpy, torch; ${patched}; runpy.run_path('script.py', run_name='__main__')"`;
}

/** The report, in Markdown. */
export function differsReport({ program, files = [], options, href, pytorch, build, browser, printed, graphs }: Differs): string {
  const chosen = Object.entries(withoutDefaults(options)).map(([name, value]) => `${name}=${String(value)}`);
  const version = build.commit ? `${build.version} (${build.commit})` : build.version;
  const parts = [
    "### Script",
    fenced(program, "python"),
    ...files.flatMap(({ name, text }) => [`Beside it, \`${name}\`:`, fenced(text, "python")]),
    href.length <= MOST_LINK ? `[The same in the AOT Playground](${href})` : "",
    "### Versions",
    [`- AOT Playground ${version}, after PyTorch ${pytorch}`, `- Options: ${chosen.join(", ") || "the usual ones"}; backend ${options.backend}`, `- Browser: ${browser}`].join("\n"),
    "### What the AOT Playground prints",
    fenced(cut(printed, MOST_PRINTED) || "(nothing)", "text"),
    graphs ? `<details><summary>Its graphs</summary>\n\n${fenced(cut(graphs, MOST_GRAPHS), "python")}\n</details>` : "",
    "### What PyTorch prints",
    `With the script as \`script.py\`, by PyTorch ${pytorch}${options.cuda ? " (with a CUDA device)" : " on a CPU"}:`,
    fenced(command(options.backend), "sh"),
    fenced("(paste it here)", "text"),
    "### What differs",
    "",
  ];
  return parts.filter((part, at) => part !== "" || at === parts.length - 1).join("\n\n");
}

/** The beginning and the end of a long text, with how much is left out between. */
function cut(text: string, most: number): string {
  const half = Math.floor(most / 2);
  if (text.length <= most) return text.trimEnd();
  return `${text.slice(0, half)}\n[${text.length - 2 * half} characters left out]\n${text.slice(-half).trimEnd()}`;
}
