// A sentence in which names stand between backticks, as code.
import type { JSX } from "preact";

export function Coded({ text }: { text: string }): JSX.Element {
  return <>{text.split("`").map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>;
}
