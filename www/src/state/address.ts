// The page's address: a link in it is opened, and Share writes one into it.
import { signal } from "@preact/signals";
import { decodeLink, encodeLink, type Shared } from "./link";
import { DEFAULTS } from "./options";
import { keep, open, options, program, untouched } from "./script";
import { loadScript } from "./storage";

export interface Notice {
  tone: "info" | "error";
  lines: readonly string[];
  /** Offers the visitor's own script, that a link has taken the place of. */
  restore?: Shared;
}

/** What the visitor should know about how the script came here. */
export const notice = signal<Notice | undefined>(undefined);

/** Opens what the address names; else the visitor's own script; else the example. */
export async function openFromAddress(example: string): Promise<void> {
  const own = loadScript();
  const link = await decodeLink(location.hash);
  if (link.kind === "shared") {
    openLink(link.shared, link.notes, own);
    return;
  }
  open(own ?? { program: example, options: { ...DEFAULTS } });
  if (own) untouched.value = false;
  if (link.kind === "broken") {
    notice.value = { tone: "error", lines: [link.reason, own ? "Your own script is as you left it." : "The example is shown."] };
  }
}

/** Follows the address when the visitor pastes another link into this tab. */
export async function followAddress(): Promise<void> {
  const link = await decodeLink(location.hash);
  if (link.kind === "none") return;
  keep();
  if (link.kind === "shared") openLink(link.shared, link.notes, loadScript());
  else notice.value = { tone: "error", lines: [link.reason, "Your script is as it was."] };
}

function openLink(shared: Shared, notes: readonly string[], own: Shared | undefined): void {
  open(shared);
  const restore = own && own.program !== shared.program ? own : undefined;
  notice.value =
    notes.length > 0 || restore
      ? { tone: "info", lines: ["This script came with the link.", ...notes], ...(restore ? { restore } : {}) }
      : undefined;
}

/** Brings the visitor's own script back. */
export function restore(shared: Shared): void {
  forgetAddress();
  open(shared);
  untouched.value = false;
  notice.value = undefined;
}

/** Takes the link out of the address: it no longer says what is on the page. */
export function forgetAddress(): void {
  if (location.hash !== "") history.replaceState(null, "", location.pathname + location.search);
}

/** Writes a link to what is on the page into the address, and gives it. */
export async function share(): Promise<string> {
  keep();
  const fragment = await encodeLink({ program: program(), options: options.value });
  history.replaceState(null, "", fragment);
  untouched.value = true;
  return location.href;
}
