// Says where the script came from, when that may surprise, and how to get one's own back.
import type { JSX } from "preact";
import { update } from "../offline/register";
import { notice, restore } from "../state/address";
import { download } from "../exports/deliver";
import { keep, program } from "../state/script";
import { keepsNothing, unread } from "../state/storage";

export function NoticeBar(): JSX.Element {
  const now = notice.value;
  return (
    <div aria-live="polite">
      {update.value && (
        <div class="notice info">
          <p>A newer version of this page has arrived. Your script stays as it is.</p>
          <button
            type="button"
            class="button"
            onClick={() => {
              keep();
              update.value?.();
            }}
          >
            Use it
          </button>
          <button type="button" class="button" onClick={() => (update.value = undefined)}>
            Later
          </button>
        </div>
      )}
      {keepsNothing.value && (
        <div class="notice error">
          <p>This browser keeps nothing: its storage is full or forbidden. What you write is gone when this tab closes.</p>
          <button type="button" class="button" onClick={() => download(new Blob([program()], { type: "text/x-python" }), "script.py")}>
            Download my script
          </button>
        </div>
      )}
      {unread.value !== undefined && (
        <div class="notice info">
          <p>What this browser keeps of your scripts is in a form that this version of the page can't read: another version wrote it.</p>
          <button type="button" class="button" onClick={() => download(new Blob([unread.value ?? ""], { type: "text/plain" }), "kept.txt")}>
            Download it
          </button>
          <button type="button" class="button" onClick={() => (unread.value = undefined)}>
            Dismiss
          </button>
        </div>
      )}
      {now && (
        <div class={`notice ${now.tone}`}>
          <p>{now.lines.join(" ")}</p>
          {now.offers?.map(({ label, take }) => (
            <button key={label} type="button" class="button" onClick={take}>
              {label}
            </button>
          ))}
          {now.restore && (
            <button type="button" class="button" onClick={() => now.restore && restore(now.restore)}>
              Back to my script
            </button>
          )}
          <button type="button" class="button" onClick={() => (notice.value = undefined)}>
            Dismiss
          </button>
        </div>
      )}
    </div>
  );
}
