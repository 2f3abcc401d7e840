// In the place of parts of the page that a file that holds a report does not have (`viewer.ts` beside the build's settings says which).
import type { JSX } from "preact";
import { COMPUTES_NOTHING } from "../state/still";

/** Instead of what runs graphs. */
export function RunPane(): JSX.Element {
  return <p class="empty">{COMPUTES_NOTHING}</p>;
}

/** Instead of what helps who writes a script. */
export const assist = [];
