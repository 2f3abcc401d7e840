// Says that a file held over the page can be let go of.
import type { JSX } from "preact";
import { dropping } from "../state/files";

export function DropHint(): JSX.Element | null {
  return dropping.value ? (
    <div class="drop-hint" role="status">
      Drop a Python file to open it
    </div>
  ) : null;
}
