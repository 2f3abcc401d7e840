// A script and its link as text for other places.

/** What a script calls itself: the first line of its docstring or of its leading comment. */
export function titleOf(program: string): string {
  const match = /^\s*(?:[rR]?("""|'''|"|')\s*([^\n]+?)\s*(?:\1|\n|$)|#+\s*([^\n]+))/.exec(program);
  const title = (match?.[2] ?? match?.[3])?.replace(/["']+$/, "").trim();
  return title && title.length <= 80 ? title : "PyTorch script in the AOT Playground";
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

/** A frame that shows the link in another page. */
export function frameMarkup(href: string): string {
  const url = new URL(href);
  url.search = "?embed";
  return `<iframe src="${url.href}" title="AOT Playground" width="100%" height="480" loading="lazy" style="border: 1px solid #8884; border-radius: 8px"></iframe>`;
}
