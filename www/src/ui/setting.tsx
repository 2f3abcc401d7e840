// A setting of PyTorch's as a line to paste, and a run with it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { copy } from "../exports/deliver";
import { embedded } from "../state/embedded";
import { runWith } from "../state/script";

export function Setting({ line }: { line: string }): JSX.Element {
  const [copied, setCopied] = useState(false);
  const name = line.slice(0, line.indexOf("=")).trim().split(".").at(-1) ?? line;
  return (
    <p class="setting">
      <button type="button" class="button" title={line} onClick={() => void copy(line, "The line").then(setCopied)}>
        {copied ? "Copied" : "Copy the line"}
      </button>
      {!embedded && (
        <button type="button" class="button" title={line} onClick={() => runWith(line)}>
          Run with {name}
        </button>
      )}
    </p>
  );
}
