// What a log that is handed on holds, and whether paths and source are cut.
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";

export function WhatIsCut({ whole }: { whole: Signal<boolean> }): JSX.Element {
  return (
    <>
      <p>
        {whole.value
          ? "What you share then holds paths and lines of source, as the log does."
          : "Paths and lines of source are left out, and so are texts that are no graphs, such as kernels. Names of functions, files and values stay."}
      </p>
      <label class="check">
        <input type="checkbox" checked={whole.value} onChange={({ currentTarget }) => (whole.value = currentTarget.checked)} />
        With paths and source
      </label>
    </>
  );
}
