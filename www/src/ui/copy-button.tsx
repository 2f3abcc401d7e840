// Copies a text, and says so.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { copy } from "../exports/deliver";

export function CopyButton({ text, what }: { text: string; what: string }): JSX.Element {
  const [copied, setCopied] = useState(false);
  useEffect(() => setCopied(false), [text]);
  return (
    <button type="button" class="button small copy" aria-label={copied ? undefined : `Copy ${what}`} onClick={() => void copy(text, what).then(setCopied)}>
      {copied ? "Copied" : "Copy"}
    </button>
  );
}
