// What the script printed, as it prints, and the traceback of what ended it. All of it is text, never markup.
import { useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { countsText } from "../report/counts";
import type { Span } from "../generated/report";
import { plural } from "../report/format";
import { placeInWords } from "../report/place";
import { openDialog } from "../state/dialogs";
import { embedded } from "../state/embedded";
import { options } from "../state/options";
import { setOption } from "../state/script";
import { select } from "../state/selection";
import { type Piece, type Style, styled } from "../report/terminal";
import { graphsRun, MOST_PRINTED, type Printed, shown } from "../state/session";
import { Pieces, PrintedText } from "../ui/printed-text";
import { FindBar, finding } from "./output-find";
import { LogPane } from "./log";

/** Graph breaks that are listed at most. */
const MOST_BREAKS = 200;

export function OutputPane(): JSX.Element {
  return graphsRun.value?.log ? <LogPane /> : <Output />;
}

function Output(): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useSignalEffect(() => {
    void shown.value;
    requestAnimationFrame(() => {
      if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
    });
  });

  const run = shown.value;
  if (!run) return <p class="empty">What the script prints appears here.</p>;
  const { report, printed, outcome } = run;
  const silent = printed.length === 0 && !report.exception && outcome.kind === "finished";
  return (
    <div class="output-pane" onKeyDown={openByKey}>
      {finding.value && <FindBar within={box} />}
      <div
        ref={box}
        class="output"
        role="log"
        aria-label="Output of the script"
        tabIndex={0}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          atEnd.current = scrollTop + clientHeight >= scrollHeight - 8;
        }}
      >
        {report.stdout.length + report.stderr.length > MOST_PRINTED && <p class="note">This is the end of a longer output.</p>}
        {lines(printed).map(({ stream, pieces }, index) => (
          <pre key={index} class={stream}>
            <Pieces of={pieces} />
          </pre>
        ))}
        {silent && <p class="empty">The script printed nothing.</p>}
        {report.exception && <Traceback traceback={report.exception.traceback} span={report.exception.span} />}
        {report.exception?.message.includes("no NVIDIA driver") && !options.value.cuda && <PretendOffer />}
        {report.pretends_cuda && <p class="note">The device cuda:0 is pretended: its tensors were computed on the CPU.</p>}
        {report.breaks.slice(0, MOST_BREAKS).map(({ reason, span }, index) => (
          <p key={index} class="note">
            Graph break{span && <LineLink {...span} />}: <PrintedText text={reason} />
          </p>
        ))}
        {report.breaks.length > MOST_BREAKS && <p class="note">{plural(report.breaks.length - MOST_BREAKS, "more graph break")}.</p>}
        {report.checks?.flatMap(({ compilation, sentences, differences }) =>
          sentences.map((sentence, index) => (
            <p key={`${compilation} ${index}`} class={differences.length > 0 ? "note stopped" : "note"}>
              Compilation {compilation}: {sentence}.
            </p>
          )),
        )}
        {outcome.kind === "stopped" && (
          <p class="note stopped" role="status">
            {outcome.why} What was known by then is shown.
          </p>
        )}
      </div>
    </div>
  );
}

/** The usual key searches here, and not in the browser's way: that has no count, and finds in other panes. */
function openByKey(event: KeyboardEvent): void {
  if (event.key.toLowerCase() !== "f" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  event.preventDefault();
  finding.value = true;
}

/** What was printed, with the colours that hold from one stream's text on in the next: a terminal shows both. */
function lines(printed: readonly Printed[]): { stream: Printed["stream"]; pieces: readonly Piece[] }[] {
  let style: Style = {};
  return printed.map(({ stream, text }) => {
    const { pieces, style: next } = styled(text, style);
    style = next;
    return { stream, pieces };
  });
}

/** A script that wants a GPU runs with one that is pretended. */
function PretendOffer(): JSX.Element {
  return (
    <p class="note">
      There is no GPU here.{" "}
      <button type="button" class="link" onClick={() => setOption("cuda", true)}>
        Run with a pretended CUDA device
      </button>
      : tensors say cuda:0 and are computed on the CPU.
    </p>
  );
}

function Traceback({ traceback, span }: { traceback: string; span: Span | null }): JSX.Element {
  return (
    <div class="traceback">
      <pre>
        <PrintedText text={traceback} />
      </pre>
      {span && (
        <p>
          Raised <LineLink {...span} />
        </p>
      )}
      {!embedded && (
        <p>
          <button type="button" class="link" onClick={() => openDialog("differs")}>
            Differs from PyTorch?
          </button>{" "}
          <button type="button" class="link" onClick={() => openDialog("minimize")}>
            Minimize the script
          </button>
        </p>
      )}
    </div>
  );
}

/** Goes to a line of the script, or of a file beside it. */
export function LineLink({ line, file }: Pick<Span, "line" | "file">): JSX.Element {
  const of = file === undefined ? {} : { file };
  const go = (): void => select({ from: "output", span: { line, column: 0, end_line: line, end_column: 0, ...of }, names: [] });
  return (
    <>
      {" "}
      <button type="button" class="link" onClick={go}>
        {placeInWords({ line, ...of })}
      </button>
    </>
  );
}

export function OutputTools(): JSX.Element | null {
  const report = (graphsRun.value?.log ? graphsRun : shown).value?.report;
  if (!report) return null;
  return (
    <>
      <span class="tools muted">{countsText(report)}</span>
      {!graphsRun.value?.log && (
        <button type="button" class="button small" title="Search in the output (Ctrl+F in it)" aria-expanded={finding.value} onClick={() => (finding.value = !finding.value)}>
          Find
        </button>
      )}
    </>
  );
}
