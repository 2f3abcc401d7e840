// A line of the script that made something: choosing it shows it.
import type { JSX } from "preact";
import type { Span } from "../../generated/report";
import { placeInWords, shortPlace } from "../../report/place";
import { select, selection } from "../../state/selection";

export function Line({ span }: { span: Span | null | undefined }): JSX.Element | null {
  if (!span) return null;
  const chosen = selection.value?.from === "guards" && selection.value.span?.line === span.line && selection.value.span.file === span.file;
  return (
    <button type="button" class="link code" aria-label={placeInWords(span).replace(/^line/, "Line")} aria-pressed={chosen} onClick={() => select({ from: "guards", span, names: [] })}>
      {shortPlace(span)}
    </button>
  );
}
