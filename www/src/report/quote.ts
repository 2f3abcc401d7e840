// Words of a stranger's inside of a sentence of the page's: they are quoted, short, and what they look like.

/** Characters of one quotation at most. */
const LONGEST = 40;
/** Quotations in one sentence at most. */
const MOST = 3;
/** What has no shape of its own, or changes how its neighbours are shown: controls, marks of direction, unassigned characters. */
const SHAPELESS = /[\p{C}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0]/gu;

/** A text without what has no shape; spaces of any kind and length are one. */
export function plainText(text: string): string {
  return text.replace(/\s+/gu, " ").replace(SHAPELESS, "").trim();
}

/** A text as a quotation: plain, and cut where it is long. */
export function quote(text: string): string {
  // What lies beyond can't be shown: a link may hold megabytes of it.
  const characters = [...plainText(text.slice(0, 16 * LONGEST))];
  const cut = characters.length > LONGEST || text.length > 16 * LONGEST;
  return `“${characters.slice(0, LONGEST).join("")}${cut ? "…" : ""}”`;
}

/** Several texts as quotations, with how many more there are. */
export function quoteAll(texts: readonly string[]): string {
  const shown = texts.slice(0, MOST).map(quote);
  return texts.length > MOST ? `${shown.join(", ")} and ${texts.length - MOST} more` : shown.join(", ");
}
