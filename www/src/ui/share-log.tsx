// The ways out for a log that is shown: a link where it is small enough, a file otherwise. It says first what either holds.
import { useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { copy, delivered, download } from "../exports/deliver";
import { formatBytes } from "../report/format";
import { shareLog } from "../state/address";
import { packed, sentence } from "../state/logs";
import { openDialog } from "../state/dialogs";
import { encodeLog } from "../state/link";
import { WhatIsCut } from "./what-is-cut";

/** Characters of a link at most: what takes links, such as a chat, cuts longer ones. */
const LONGEST_LINK = 30_000;

type Made = { state: "making" } | { state: "made"; file: Blob; link: string | undefined; name: string } | { state: "failed"; message: string };

export function ShareLog(): JSX.Element {
  const whole = useSignal(false);
  const made = useSignal<Made>({ state: "making" });
  useSignalEffect(() => {
    const cut = !whole.value;
    let gone = false;
    made.value = { state: "making" };
    make(cut)
      .catch((error: unknown): Made => ({ state: "failed", message: sentence(error) }))
      .then((now) => {
        if (!gone) made.value = now;
      });
    return () => {
      gone = true;
    };
  });
  const now = made.value;
  const link = now.state === "made" ? now.link : undefined;
  return (
    <>
      <WhatIsCut whole={whole} />
      <p class="muted" role="status">
        {delivered.value || (now.state === "failed" ? `It can't be made: ${now.message}.` : now.state === "making" ? "Packing…" : "Nothing is stored anywhere.")}
      </p>
      <div class="menu">
        <button type="button" class="button" disabled={!link} onClick={() => link && void copy(shareLog(link), "The link")}>
          Copy link{now.state === "made" && !link ? ": too large for one" : ""}
        </button>
        <button type="button" class="button" disabled={now.state !== "made"} onClick={() => now.state === "made" && download(now.file, now.name)}>
          Download .aotz{now.state === "made" && ` (${formatBytes(now.file.size)})`}
        </button>
        <button type="button" class="button" title="What is shown, with what shows it, as one file" onClick={() => openDialog("file")}>
          One HTML file…
        </button>
        <button type="button" class="button" onClick={() => openDialog("export")}>
          Export graphs and report…
        </button>
      </div>
      <p class="muted">An .aotz file opens here, and by aot-playground read.</p>
    </>
  );
}

async function make(cut: boolean): Promise<Made> {
  const { text, name } = await packed(cut);
  const file = await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"))).blob();
  // Base64 takes a third more than the file: a larger one needs no link to be made.
  const link = file.size > LONGEST_LINK ? undefined : await encodeLog(text);
  return { state: "made", file, link: link && link.length <= LONGEST_LINK ? link : undefined, name: `${name.replace(/[^\w.-]+/g, "_").replace(/\.(?:log|txt|zip|gz|aotz)$/, "")}.aotz` };
}
