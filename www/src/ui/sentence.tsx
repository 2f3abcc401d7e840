// A sentence of the report's: its parts are links to the lines and values that they name.
import type { JSX } from "preact";
import type { Sentence } from "../generated/report";
import { select, type Selection } from "../state/selection";

export function SentenceText({ of, from }: { of: Sentence; from: Selection["from"] }): JSX.Element {
  return (
    <>
      {of.parts.map(({ text, link }, at) =>
        link ? (
          <button key={at} type="button" class="link" onClick={() => select({ from, span: link.span ?? undefined, names: link.names })}>
            {text}
          </button>
        ) : (
          text
        ),
      )}
    </>
  );
}
