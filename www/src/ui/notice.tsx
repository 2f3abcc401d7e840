// Says where the script came from, when that may surprise, and how to get one's own back.
import type { JSX } from "preact";
import { notice, restore } from "../state/address";

export function NoticeBar(): JSX.Element {
  const now = notice.value;
  return (
    <div aria-live="polite">
      {now && (
        <div class={`notice ${now.tone}`}>
          <p>{now.lines.join(" ")}</p>
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
