// Python files that the visitor opens or drops on the page.
import { signal } from "@preact/signals";
import { forgetAddress, notice } from "./address";
import { options } from "./options";
import { adopt, program } from "./script";
import { loadScript } from "./storage";

/** A file larger than this is no script. */
const LARGEST = 1024 * 1024;

/** Whether a file is held over the page. */
export const dropping = signal(false);

/** Opens a file as the visitor's own script; the one before is offered, and kept. */
export async function openFile(file: File): Promise<void> {
  const refuse = (why: string): void => {
    notice.value = { tone: "error", lines: [`${file.name} ${why}`, "Your script is as it was."] };
  };
  if (file.size > LARGEST) return refuse("is too large for a script.");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    return refuse("is not a text in UTF-8.");
  }
  if (text.includes("\0")) return refuse("is not a text.");
  const before = program();
  const own = loadScript();
  forgetAddress();
  adopt({ program: text.replaceAll("\r\n", "\n"), options: options.value });
  const restore = own && own.program === before && before !== text ? own : undefined;
  notice.value = restore ? { tone: "info", lines: [`${file.name} is open.`], restore } : undefined;
}

/** Lets files be dropped anywhere on the page. */
export function acceptDrops(): void {
  const carries = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  let depth = 0;
  const over = (change: number): void => {
    depth = Math.max(0, depth + change);
    dropping.value = depth > 0;
  };
  window.addEventListener("dragenter", (event) => carries(event) && over(1));
  window.addEventListener("dragleave", (event) => carries(event) && over(-1));
  window.addEventListener("dragover", (event) => carries(event) && event.preventDefault());
  // Before the editor, which would insert the text.
  window.addEventListener(
    "drop",
    (event) => {
      if (!carries(event)) return;
      event.preventDefault();
      event.stopPropagation();
      over(-depth);
      const file = event.dataTransfer?.files[0];
      if (file) void openFile(file);
    },
    { capture: true },
  );
}
