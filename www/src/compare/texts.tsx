// The graphs of two compilations as texts, line by line.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { showMerged } from "../editor/merge";
import { plural } from "../report/format";
import { firstOther, stagesOfBoth, type Texts } from "../report/texts";
import { narrow } from "../state/layout";

interface Props {
  names: readonly [string, string];
  /** Gives the texts of both. */
  read(): Promise<readonly [Texts, Texts]>;
}

export function GraphTexts({ names, read }: Props): JSX.Element {
  const texts = useSignal<readonly [Texts, Texts] | string | undefined>(undefined);
  const chosen = useSignal<string | undefined>(undefined);
  const changes = useSignal<number | undefined>(undefined);
  useEffect(() => {
    let gone = false;
    read()
      .catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
      .then((found) => {
        if (!gone) texts.value = found;
      });
    return () => {
      gone = true;
    };
  }, []);
  const now = texts.value;
  if (!now) return <p class="empty">Reading…</p>;
  if (typeof now === "string") return <p class="note error">{now}</p>;
  const [one, other] = now;
  const both = stagesOfBoth(one, other);
  const stage = chosen.value ?? firstOther(one, other);
  if (!stage) return <p class="empty">There is no stage that both have.</p>;
  return (
    <>
      <p class="compare-stage">
        <select class="select" aria-label="Stage" value={stage} onChange={({ currentTarget }) => (chosen.value = currentTarget.value)}>
          {both.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <span role="status">{changes.value !== undefined && (changes.value === 0 ? "The texts are the same." : `${plural(changes.value, "place")} with other lines.`)}</span>
      </p>
      <Merge key={stage} texts={[one.get(stage) ?? "", other.get(stage) ?? ""]} names={names} onChanges={(count) => (changes.value = count)} />
    </>
  );
}

function Merge({ texts, names, onChanges }: { texts: readonly [string, string]; names: readonly [string, string]; onChanges(count: number): void }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const wide = !narrow.value;
  useEffect(() => {
    if (!host.current) return undefined;
    const { changes, destroy } = showMerged(host.current, texts, [`First: ${names[0]}`, `Second: ${names[1]}`], wide);
    onChanges(changes);
    return destroy;
  }, [wide]);
  return <div class="compare-texts" ref={host} />;
}
