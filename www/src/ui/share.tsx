// The ways out: a link, in several dresses, and the way to the exports.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { copy, delivered } from "../exports/deliver";
import { frameMarkup, markdownLink, markdownWithCode } from "../exports/text";
import { share } from "../state/address";
import { openDialog } from "../state/dialogs";
import { program } from "../state/script";
import { logRun } from "../state/session";
import { Popover } from "./popover";
import { ShareLog } from "./share-log";

export function ShareMenu(): JSX.Element {
  const href = useSignal("");
  const isOpen = useSignal(false);
  const open = async (): Promise<void> => {
    delivered.value = "";
    isOpen.value = true;
    // Of a log nothing is made before it is said what it holds.
    if (logRun.value) return;
    href.value = await share();
    await copy(href.value, "The link");
  };
  const log = logRun.value?.log;
  return (
    <Popover button="Share" label="Share" class="primary" onOpen={() => void open()}>
      {log ? isOpen.value && <ShareLog key={log.id} /> : <ShareScript href={href.value} />}
    </Popover>
  );
}

const DRESSES: readonly (readonly [string, string, (href: string) => string])[] = [
  ["Copy Markdown link", "The Markdown link", (link) => markdownLink(program(), link)],
  ["Copy Markdown with code", "The Markdown", (link) => markdownWithCode(program(), link)],
  ["Copy frame for a page", "The frame", frameMarkup],
];

function ShareScript({ href }: { href: string }): JSX.Element {
  return (
    <>
      <p role="status">{delivered.value || "This link brings all of this back:"}</p>
      <div class="share-link">
        <input class="input code" readOnly aria-label="Link" value={href} onFocus={(event) => event.currentTarget.select()} />
        <button type="button" class="button" onClick={() => void copy(href, "The link")}>
          Copy
        </button>
      </div>
      <p class="muted">It holds the script, the options and what you look at: nothing is stored anywhere.</p>
      <div class="menu">
        {DRESSES.map(([title, what, dress]) => (
          <button key={title} type="button" class="button" onClick={() => void copy(dress(href), what)}>
            {title}
          </button>
        ))}
        <button type="button" class="button" onClick={() => openDialog("export")}>
          Export graphs and report…
        </button>
        <button type="button" class="button" title="A report to copy, with the command that has PyTorch print the same" onClick={() => openDialog("differs")}>
          Differs from PyTorch?
        </button>
      </div>
    </>
  );
}
