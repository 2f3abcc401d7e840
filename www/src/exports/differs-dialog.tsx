// "Differs from PyTorch?": the report, seen before it is copied, and the way to where such reports go.
import { useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { BUILD } from "../build";
import { PYTORCH_VERSION } from "../generated/report";
import { linkTo } from "../state/address";
import { options } from "../state/options";
import { scriptFiles } from "../state/modules";
import { program } from "../state/script";
import { shown } from "../state/session";
import { copy, delivered } from "./deliver";
import { command, differsReport } from "./differs";
import { make } from "./make";

export function DiffersDialog(): JSX.Element {
  const text = useSignal<string | undefined>(undefined);
  const { backend } = options.value;
  useSignalEffect(() => {
    const run = shown.value;
    let left = false;
    delivered.value = "";
    const graphs = run && run.report.compilations.length + run.report.regions.length > 0 ? make({ type: "logs", report: run.report }).catch(() => "") : "";
    void Promise.all([linkTo(), graphs]).then(([href, graphs]) => {
      if (left) return;
      const printed = [...(run?.printed ?? []).map(({ text }) => text), run?.report.exception?.traceback ?? ""].join("");
      const pytorch = run?.report.pytorch ?? PYTORCH_VERSION;
      text.value = differsReport({ program: program(), files: scriptFiles(), options: options.value, href, pytorch, build: BUILD, browser: navigator.userAgent, printed, graphs });
    });
    return () => {
      left = true;
    };
  });
  return (
    <>
      <p>What this page shows should be what PyTorch prints. Where it is not: copy this report, run the command in it, and put what PyTorch prints into the last box.</p>
      <pre class="preview-text" tabIndex={0} aria-label="The report, in Markdown">
        {text.value ?? "Making it…"}
      </pre>
      <div class="export-actions">
        <span role="status">{delivered.value}</span>
        <button type="button" class="button" onClick={() => void copy(command(backend), "The command")}>
          Copy the command
        </button>
        <button type="button" class="button primary" disabled={text.value === undefined} onClick={() => text.value !== undefined && void copy(text.value, "The report")}>
          Copy the report
        </button>
        {BUILD.tracker && (
          <a class="button" href={BUILD.tracker} target="_blank" rel="noopener">
            File it
          </a>
        )}
      </div>
    </>
  );
}
