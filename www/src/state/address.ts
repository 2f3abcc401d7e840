// The page's address: a link in it is opened, and Share writes one into it.
import { signal } from "@preact/signals";
import { embedded } from "./embedded";
import { decodeLink, encodeLink, isLesson, type Link, type Place, type Shared } from "./link";
import { DEFAULTS, options } from "./options";
import { openLog, sentence, showScript } from "./logs";
import { currentPlace, goTo } from "./place";
import { adopt, current, newLink, open, openOwn, putAside, sameProgram, untouched } from "./script";
import { addDraft, loadScript } from "./storage";

export interface Notice {
  tone: "info" | "error";
  lines: readonly string[];
  /** Offers the visitor's own script, that something else has taken the place of. */
  restore?: Shared;
  /** Whether it says that the script is a link's: that holds until the visitor changes it. */
  ofLink?: boolean;
  /** What else it offers. */
  offers?: readonly { label: string; take(): void }[];
}

const STRANGERS = "This script came with the link: whoever made the link wrote it.";

/** What the visitor should know about how the script came here. */
export const notice = signal<Notice | undefined>(undefined);

/** The part of the address after the page, as it was when the page was opened. */
export const address = signal(location.hash);

/** Opens what the address names; else the visitor's own script; else the example, of which `atOnce` shows what there is already. */
export async function openFromAddress(example: string, atOnce: () => Promise<void> = async () => {}): Promise<void> {
  const own = loadScript();
  const link = await decodeLink(location.hash);
  if (link.kind === "shared") {
    openLink(link, own);
    return;
  }
  if (own) openOwn(own);
  else {
    open({ program: example, options: { ...DEFAULTS } }, "example");
    await atOnce();
  }
  if (link.kind === "log") await openLinkedLog(link, address.value);
  if (link.kind === "lesson") openLesson(link.text);
  if (link.kind === "broken") {
    notice.value = { tone: "error", lines: [link.reason, own ? "Your own script is as you left it." : "The example is shown."] };
  }
}

/** Follows the address when the visitor pastes another link into this tab. */
export async function followAddress(): Promise<void> {
  address.value = location.hash;
  const link = await decodeLink(location.hash);
  if (link.kind === "none") return;
  putAside();
  if (link.kind === "shared") openLink(link, loadScript());
  else if (link.kind === "log") await openLinkedLog(link, address.value);
  else if (link.kind === "lesson") openLesson(link.text);
  else notice.value = { tone: "error", lines: [link.reason, "Your script is as it was."] };
}

let begin: (text: string, foreign: boolean) => boolean = () => false;

/** Takes what begins lessons that come with links. */
export function onLesson(how: typeof begin): void {
  begin = how;
}

function openLesson(text: string): void {
  if (!begin(text, true)) notice.value = { tone: "error", lines: ["This link holds no lesson.", "Your script is as it was."] };
}

/** Opens a log that came with a link. It is not kept: the link has it. */
async function openLinkedLog({ name, packed }: Extract<Link, { kind: "log" }>, fragment: string): Promise<void> {
  try {
    await openLog(name, [{ name: `${name}.aotz`, blob: packed }], false);
    // The visitor's own script, which stays, is not what the address stands for.
    shareLog(fragment);
    notice.value = { tone: "info", lines: ["This log came with the link: whoever made the link made it. Your script is as you left it."] };
  } catch (error) {
    notice.value = { tone: "error", lines: [`The log of this link can't be read: ${sentence(error)}.`, "Your script is as it was."] };
  }
}

/** Writes the link of a log into the address, and gives it. */
export function shareLog(fragment: string): string {
  history.replaceState(null, "", fragment);
  return location.href;
}

function openLink({ shared, place, notes }: Extract<Link, { kind: "shared" }>, own: Shared | undefined): void {
  // Edits of what came by the link are kept in the place of the visitor's own script: that one is put aside.
  if (own && !embedded) addDraft(own);
  const more = [...notes, ...goTo(place)];
  const asks = asksForTime(shared);
  more.push(...asks);
  open(shared, newLink(), { waits: asks.length > 0 });
  // A frame shows what it was made of, whatever else the visitor has.
  const restore = own && !embedded && !sameProgram(own, shared) ? own : undefined;
  if (embedded && more.length === 0) notice.value = undefined;
  else notice.value = { tone: "info", lines: [STRANGERS, ...more], ofLink: true, ...(restore ? { restore } : {}) };
}

/** A sentence where a script wants to run longer than usual: it then waits for the visitor. */
function asksForTime({ options: { limit } }: Shared): string[] {
  return limit > DEFAULTS.limit ? [`It asks to run for up to ${limit} seconds: press Run to let it.`] : [];
}

/** Opens a program from elsewhere, named by `from`; the visitor's own script is put aside, and offered. */
export function openInstead(shared: Shared, from: string): void {
  putAside();
  const own = loadScript();
  forgetAddress();
  open(shared, "example");
  notice.value = { tone: "info", lines: [from], ...(own && !sameProgram(own, shared) ? { restore: own } : {}) };
}

/** Opens what a step of a lesson shows; what is there already is not run again. */
export function openStep(shared: Shared, place: Place, from: "link" | "example"): void {
  const there = sameProgram(current(), shared) && JSON.stringify(options.value) === JSON.stringify(shared.options);
  const asks = there ? [] : asksForTime(shared);
  if (!there) {
    putAside();
    // The address of the lesson itself still holds.
    if (!isLesson(location.hash)) forgetAddress();
    open(shared, from === "link" ? newLink() : "example", { waits: asks.length > 0 });
  } else showScript();
  const notes = [...asks, ...goTo({ ...currentPlace(), ...place, selection: place.selection })];
  notice.value = notes.length > 0 ? { tone: "info", lines: notes } : undefined;
}

/** Brings the visitor's own script back. */
export function restore(shared: Shared): void {
  forgetAddress();
  adopt(shared);
  notice.value = undefined;
}

/** Takes the link out of the address: it no longer says what is on the page. */
export function forgetAddress(): void {
  if (location.hash !== "") history.replaceState(null, "", location.pathname + location.search);
}

/** Writes a link to what is on the page into the address, and gives it. */
export async function share(): Promise<string> {
  putAside();
  const href = await linkTo();
  history.replaceState(null, "", href);
  untouched.value = true;
  return href;
}

/** A link to what is on the page. */
export async function linkTo(): Promise<string> {
  return new URL(await encodeLink(current(), currentPlace()), location.href).href;
}
