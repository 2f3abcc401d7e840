// What eager mode keeps for the backward, beside what the run's partition does: autograd's own saved set is the upper bound.
import type { JSX } from "preact";
import { answerTo } from "../state/partition";
import { SentenceText } from "./sentence";

export function EagerKept(): JSX.Element | null {
  const answer = answerTo({ ask: "eager" });
  if (answer?.answer !== "eager") return null;
  return (
    <p class={answer.is_less ? "note" : "answer"} data-eager={answer.memory.saved_bytes}>
      <SentenceText of={answer.kept} from="saved" />
    </p>
  );
}
