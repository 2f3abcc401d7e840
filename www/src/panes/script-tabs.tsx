// Tabs of the script and of the files beside it, and what is done with files: adding, renaming, closing.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Tabs } from "../layout/tabs";
import { notice } from "../state/address";
import { embedded } from "../state/embedded";
import { closeModule, modules, namedId, nameProblem, newModule, openId, renameModule, SCRIPT } from "../state/modules";
import { narrow } from "../state/layout";
import { graphsRun } from "../state/session";
import { modulesChanged } from "../state/script";

export function ModuleTabs(): JSX.Element | null {
  const all = modules.value;
  if (all.length === 0) return null;
  const open = all.find(({ id }) => id === openId.value);
  const isNamed = open !== undefined && namedId.value === open.id;
  const end = (): void => {
    namedId.value = undefined;
    requestAnimationFrame(() => document.getElementById(`file-tab-${openId.value ?? 0}`)?.focus());
  };
  const close = (): void => {
    if (!open) return;
    const restore = closeModule(open.id);
    modulesChanged();
    notice.value = {
      tone: "info",
      lines: [`${open.name} is closed.`],
      offers: [
        {
          label: "Bring it back",
          take: () => {
            restore?.();
            notice.value = undefined;
            modulesChanged();
          },
        },
      ],
    };
    requestAnimationFrame(() => document.getElementById(`file-tab-${openId.value ?? 0}`)?.focus());
  };
  const tabs = [{ key: "0", title: SCRIPT, help: "The script: this is what runs" }, ...all.map(({ id, name }) => ({ key: String(id), title: name, help: name }))];
  return (
    <div class="file-tabs">
      <Tabs id="file" label="Files" tabs={tabs} open={String(open?.id ?? 0)} onOpen={(key) => (openId.value = Number(key) || undefined)} class="files" />
      {!embedded &&
        (isNamed && open ? (
          <NameField id={open.id} name={open.name} onEnd={end} />
        ) : (
          <div class="file-tools">
            {open && (
              <>
                <button type="button" class="button small" onClick={() => (namedId.value = open.id)} aria-label={`Rename ${open.name}`}>
                  Rename
                </button>
                <button type="button" class="button small" onClick={close} aria-label={`Close ${open.name}`}>
                  Close
                </button>
              </>
            )}
          </div>
        ))}
    </div>
  );
}

function NameField({ id, name, onEnd }: { id: number; name: string; onEnd(): void }): JSX.Element {
  const text = useSignal(name);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  const problem = nameProblem(text.value.trim(), id);
  const rename = (): void => {
    if (renameModule(id, text.value.trim())) return;
    modulesChanged();
    onEnd();
  };
  return (
    <form
      class="file-tools"
      onSubmit={(event) => {
        event.preventDefault();
        rename();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        onEnd();
      }}
    >
      <input ref={field} class="input code" aria-label="Name of the file" aria-invalid={problem !== undefined} aria-describedby="file-problem" value={text.value} onInput={({ currentTarget }) => (text.value = currentTarget.value)} />
      <button type="submit" class="button small" disabled={problem !== undefined}>
        Rename
      </button>
      <span id="file-problem" role="status" class="file-problem">
        {text.value.trim() === name ? "" : problem}
      </span>
    </form>
  );
}

/** Adds a file beside the script. */
export function ScriptTools(): JSX.Element | null {
  if (embedded || graphsRun.value?.log) return null;
  const add = (): void => {
    newModule();
    modulesChanged();
  };
  return (
    <button
      type="button"
      class="button small"
      aria-label="Add file"
      title="A file beside the script, which it can import. Files, folders, zips and wheels can also be dropped on the page"
      onClick={add}
    >
      {narrow.value ? "+" : "Add file"}
    </button>
  );
}
