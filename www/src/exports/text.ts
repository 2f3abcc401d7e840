// A script and its link as text for other places.

/** Characters of a comment that GitHub takes. */
export const MOST_OF_A_COMMENT = 65_536;

/** What a script calls itself: the first line of its docstring or of its leading comment. */
export function titleIn(program: string): string | undefined {
  const match = /^\s*(?:[rR]?("""|'''|"|')\s*([^\n]+?)\s*(?:\1|\n|$)|#+\s*([^\n]+))/.exec(program);
  const title = (match?.[2] ?? match?.[3])?.replace(/["']+$/, "").trim();
  return title && title.length <= 80 ? title : undefined;
}

/** The same, and what it is where it says nothing. */
export function titleOf(program: string): string {
  return titleIn(program) ?? "PyTorch script in the AOT Playground";
}

/** `[title](link)`: what could end either is escaped. */
export function markdownLink(program: string, href: string): string {
  return `[${titleOf(program).replace(/[\\[\]`*_<>]/g, "\\$&")}](${href})`;
}

/** The link and the code below it, in a fence that the code cannot close. */
export function markdownWithCode(program: string, href: string): string {
  return `${markdownLink(program, href)}\n\n${fenced(program, "python")}\n`;
}

/** A text in a fence that it cannot close. */
export function fenced(text: string, language: string): string {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n*$/, "\n")}${fence}`;
}

/** What a frame shows, and how. */
export interface FrameOptions {
  /** One view alone, or the panes that it has; else script and graphs. */
  only?: string;
  panes?: string;
  theme?: string;
  /** Whether it is as high as what it shows. */
  fits?: boolean;
}

/** Sets the height that a frame tells. It listens to frames of the page it stands in alone. */
const FITTING = `<script>
addEventListener("message", ({ data, source }) => {
  if (data?.type !== "aot-playground height") return;
  for (const frame of document.querySelectorAll("iframe")) if (frame.contentWindow === source) frame.style.height = data.height + 2 + "px";
});
</script>`;

/** A frame that shows the link in another page. */
export function frameMarkup(href: string, { only, panes, theme, fits }: FrameOptions = {}): string {
  const url = new URL("embed.html", href);
  url.hash = new URL(href).hash;
  if (only) url.searchParams.set("only", only);
  else if (panes) url.searchParams.set("panes", panes);
  if (theme) url.searchParams.set("theme", theme);
  if (fits) url.searchParams.set("height", "fit");
  const address = url.href.replaceAll("%2C", ",").replaceAll("&", "&amp;");
  const frame = `<iframe src="${address}" title="AOT Playground" width="100%" height="480" loading="lazy" style="border: 1px solid #8884; border-radius: 8px"></iframe>`;
  return fits ? `${frame}\n${FITTING}` : frame;
}
