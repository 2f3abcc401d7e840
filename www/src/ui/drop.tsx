// Says that a file held over the page can be let go of.
import type { JSX } from "preact";
import { dropping } from "../state/files";

export function DropHint(): JSX.Element | null {
  return dropping.value ? (
    <div class="drop-hint" role="status">
      Drop a script, or logs and traces of PyTorch, to open them here: nothing is uploaded
    </div>
  ) : null;
}
