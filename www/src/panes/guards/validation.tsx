// Translation validation of one graph: whether its guards imply what tracing asked for, and what they leave of each symbol.
import type { JSX } from "preact";
import type { Validation } from "../../generated/report";
import { SentenceText } from "../../ui/sentence";
import { TermLink } from "../../ui/term";

/** Symbols of one graph that are listed. */
const MOST_SYMBOLS = 40;

export function ValidationView({ of: { verdict, sentence, symbols } }: { of: Validation }): JSX.Element {
  return (
    <section class="validation" aria-label="Validation of the guards">
      <p class={`verdict ${verdict}`}>
        <TermLink of="validation">Validation</TermLink>: <SentenceText of={sentence} from="guards" />
      </p>
      {symbols.length > 0 && (
        <dl class="narrowed">
          {symbols.slice(0, MOST_SYMBOLS).map(({ name, source, sentence: left }) => (
            <div key={name}>
              <dt class="code">
                {name} <span class="faint">{source}</span>
              </dt>
              <dd>
                <SentenceText of={left} from="guards" />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {symbols.length > MOST_SYMBOLS && <p class="muted">And {symbols.length - MOST_SYMBOLS} other symbols.</p>}
    </section>
  );
}
