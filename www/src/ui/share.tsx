// The ways out: a link, in several dresses, and the way to the exports.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { copy, delivered, download } from "../exports/deliver";
import { markdownLink, markdownWithCode, MOST_OF_A_COMMENT } from "../exports/text";
import type { ScriptFile } from "../generated/report";
import { plural } from "../report/format";
import { share } from "../state/address";
import { openDialog } from "../state/dialogs";
import { LARGEST } from "../state/link";
import { scriptFiles } from "../state/modules";
import { program } from "../state/script";
import { logRun } from "../state/session";
import { Popover } from "./popover";
import { ShareFrame } from "./share-frame";
import { ShareLog } from "./share-log";

export function ShareMenu(): JSX.Element {
  const href = useSignal("");
  const isOpen = useSignal(false);
  const open = async (): Promise<void> => {
    delivered.value = "";
    href.value = "";
    isOpen.value = true;
    // Of a log nothing is made before it is said what it holds.
    if (logRun.value) return;
    href.value = await share();
    await copy(href.value, "The link");
  };
  const log = logRun.value?.log;
  return (
    <Popover button="Share" label="Share" class="primary" onOpen={() => void open()}>
      {log ? isOpen.value && <ShareLog key={log.id} /> : href.value === "" ? <p role="status">The link is being made.</p> : <ShareScript href={href.value} />}
    </Popover>
  );
}

const DRESSES: readonly (readonly [string, string, (href: string) => string])[] = [
  ["Copy Markdown link", "The Markdown link", (link) => markdownLink(program(), link)],
  ["Copy Markdown with code", "The Markdown", (link) => markdownWithCode(program(), link)],
];

/** Whether a link would hold more than is unpacked of one. */
const isTooLarge = (files: readonly ScriptFile[]): boolean => files.length > 0 && JSON.stringify(files).length + program().length > LARGEST;

function ShareScript({ href }: { href: string }): JSX.Element {
  const files = scriptFiles();
  const tooLong = markdownWithCode(program(), href).length > MOST_OF_A_COMMENT;
  return (
    <>
      <p role="status">{delivered.value || "This link brings all of this back:"}</p>
      <div class="share-link">
        <input class="input code" readOnly aria-label="Link" value={href} onFocus={(event) => event.currentTarget.select()} />
        <button type="button" class="button" onClick={() => void copy(href, "The link")}>
          Copy
        </button>
      </div>
      <p class="muted">It holds the script{files.length > 0 && `, ${plural(files.length, "file")} beside it`}, the options and what you look at: nothing is stored anywhere.</p>
      {isTooLarge(files) && <p class="note">The files beside the script are more than this page takes from a link: who opens it is told so.</p>}
      <div class="menu">
        {DRESSES.map(([title, what, dress]) => (
          <button key={title} type="button" class="button" onClick={() => void copy(dress(href), what)}>
            {title}
          </button>
        ))}
        {tooLong && (
          <p class="note">
            With its code this script is longer than a comment on GitHub may be ({MOST_OF_A_COMMENT.toLocaleString("en")} characters).{" "}
            <button type="button" class="link" onClick={() => download(new Blob([program()], { type: "text/x-python" }), "script.py")}>
              Download script.py
            </button>{" "}
            to attach it.
          </p>
        )}
        <ShareFrame href={href} />
        <button type="button" class="button" title="What is shown, with what shows it, as one file" onClick={() => openDialog("file")}>
          One HTML file…
        </button>
        <button type="button" class="button" onClick={() => openDialog("export")}>
          Export graphs and report…
        </button>
        <button type="button" class="button" title="A report to copy, with the command that has PyTorch print the same" onClick={() => openDialog("differs")}>
          Differs from PyTorch?
        </button>
        <button type="button" class="button" title="The smallest script with the same exception, text or operator" onClick={() => openDialog("minimize")}>
          Minimize the script…
        </button>
      </div>
    </>
  );
}
