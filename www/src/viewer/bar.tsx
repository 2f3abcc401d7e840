// The bar of a file that holds reports: which of them is shown, and what differs between them.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { VERSION } from "../build";
import { Differences } from "../compare/differences";
import { Dialog } from "../ui/dialog";
import { kept, shownPart, showPart, textsOfPart, titles } from "./parts";

const comparing = signal(false);

export function Bar(): JSX.Element {
  const { differences, notes } = kept.value;
  return (
    <header class="header viewer-bar">
      <h1 class="brand">
        AOT Playground <span class="version">{VERSION}</span>
      </h1>
      {titles.value.length > 1 ? (
        <div class="log-tabs" role="group" aria-label="What is shown">
          {titles.value.map((title, at) => (
            <button key={at} type="button" class="log-name" aria-pressed={at === shownPart.value} title={title} onClick={() => showPart(at)}>
              <bdi>{title}</bdi>
            </button>
          ))}
        </div>
      ) : (
        <p class="viewer-title">
          <bdi>{titles.value[0]}</bdi>
        </p>
      )}
      {differences && (
        <button type="button" class="button" onClick={() => (comparing.value = true)}>
          Compare…
        </button>
      )}
      <p class="muted viewer-said">A file with all that it shows: it runs no script and asks nothing of a network. {notes.join(" ")}</p>
    </header>
  );
}

export function Comparison(): JSX.Element | null {
  const { differences, parts } = kept.value;
  if (!comparing.value || !differences) return null;
  return (
    <Dialog title="Compare" class="dialog-compare" onClose={() => (comparing.value = false)}>
      <p class="muted">
        First: <bdi>{titles.value[0]}</bdi>. Second: <bdi>{titles.value[1] ?? titles.value[0]}</bdi>. Compilations are matched by what they compute, and values by what computes them, whatever they are
        called.
      </p>
      <Differences
        pairs={differences.pairs}
        versions={differences.versions}
        texts={async ([one, other]) => [textsOfPart(parts[0], one), textsOfPart(parts[1] ?? parts[0], other)]}
      />
    </Dialog>
  );
}
