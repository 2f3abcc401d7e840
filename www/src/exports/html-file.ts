// One HTML file with reports and what shows them: the viewer that the build made, with the reports put in.
import { type Kept, pack } from "../viewer/kept";
import { NONCE, REPORTS } from "../viewer/template";

/** @throws a sentence where the viewer can't be had */
export async function htmlFile(kept: Omit<Kept, "form">): Promise<Blob> {
  const answer = await fetch(new URL("viewer.html", document.baseURI)).catch(() => undefined);
  const template = answer?.ok ? await answer.text() : "";
  if (!template.includes(REPORTS)) throw new Error("the viewer could not be fetched");
  return new Blob([filled(template, await pack(kept), drawn())], { type: "text/html" });
}

/** The template with its places filled. What is put in holds letters and digits alone, whatever the reports hold. */
export function filled(template: string, reports: string, nonce: string): string {
  // The viewer's script names the places, too, and its hash holds only as it is.
  const end = template.lastIndexOf("<script type=\"module\">");
  const head = template.slice(0, end).replaceAll(NONCE, nonce).replace(REPORTS, () => reports);
  return head + template.slice(end);
}

/** A number that nobody knows before. */
function drawn(): string {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(18))));
}
