// Search in what was printed: matches are painted by the browser's highlights, so that the text itself is not touched.
import { signal, useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { countText } from "../editor/find";
import { shown } from "../state/session";

/** Whether the output is searched. */
export const finding = signal(false);

/** Matches that are found at most. */
const MOST = 5000;
/** Elements whose text stands together. */
const BLOCKS = "pre, p";

export function FindBar({ within }: { within: { current: HTMLElement | null } }): JSX.Element {
  const wanted = useSignal("");
  const matches = useSignal<readonly Range[]>([]);
  const at = useSignal(0);
  const field = useRef<HTMLInputElement>(null);

  useEffect(() => field.current?.focus(), []);
  // What is printed since is searched, too.
  useSignalEffect(() => {
    const text = wanted.value;
    void shown.value;
    const frame = requestAnimationFrame(() => {
      matches.value = within.current && text ? matchesIn(within.current, text) : [];
      at.value = Math.min(at.peek(), Math.max(0, matches.value.length - 1));
    });
    return () => cancelAnimationFrame(frame);
  });
  useSignalEffect(() => {
    paint(matches.value, matches.value[at.value]);
    return () => paint([], undefined);
  });

  const go = (step: number): void => {
    const all = matches.value.length;
    if (all === 0) return;
    at.value = (at.value + step + all) % all;
    const box = matches.value[at.value]?.getBoundingClientRect();
    const view = within.current?.getBoundingClientRect();
    if (box && view && within.current && (box.top < view.top || box.bottom > view.bottom)) within.current.scrollTop += box.top - view.top - view.height / 3;
  };
  const close = (): void => {
    finding.value = false;
    within.current?.focus();
  };
  return (
    <div class="find">
      <input
        ref={field}
        class="input"
        aria-label="Find in the output"
        placeholder="Find"
        value={wanted.value}
        onInput={({ currentTarget }) => {
          at.value = 0;
          wanted.value = currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
          else if (event.key === "Escape") close();
          else return;
          event.preventDefault();
        }}
      />
      <output class="find-count">{wanted.value && countText(matches.value.length > 0 ? at.value + 1 : 0, matches.value.length)}</output>
      <button type="button" class="button" aria-label="Previous match" title="Previous match" onClick={() => go(-1)}>
        ↑
      </button>
      <button type="button" class="button" aria-label="Next match" title="Next match" onClick={() => go(1)}>
        ↓
      </button>
      <button type="button" class="button" aria-label="Close the search" title="Close the search" onClick={close}>
        ✕
      </button>
    </div>
  );
}

/** Where a text stands in the blocks of an element, in whatever case. */
export function matchesIn(element: HTMLElement, text: string): Range[] {
  const found: Range[] = [];
  const wanted = text.toLowerCase();
  for (const block of element.querySelectorAll<HTMLElement>(BLOCKS)) {
    const nodes: { node: Text; from: number }[] = [];
    let whole = "";
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode() as Text | null; node; node = walker.nextNode() as Text | null) {
      nodes.push({ node, from: whole.length });
      whole += node.data;
    }
    // Letters that have another length in the other case would shift what stands behind them.
    const lower = whole.toLowerCase();
    const searched = lower.length === whole.length ? lower : whole;
    let last = 0;
    const place = (at: number): [Text, number] | undefined => {
      while (last + 1 < nodes.length && (nodes[last + 1]?.from ?? Infinity) <= at) last += 1;
      const here = nodes[last];
      return here && [here.node, at - here.from];
    };
    for (let at = searched.indexOf(wanted); at >= 0 && found.length < MOST; at = searched.indexOf(wanted, at + wanted.length)) {
      const [from, to] = [place(at), place(at + wanted.length)];
      if (!from || !to) break;
      const range = document.createRange();
      range.setStart(...from);
      range.setEnd(...to);
      found.push(range);
    }
  }
  return found;
}

/** Paints matches, and the chosen one of them, where the browser can. */
function paint(all: readonly Range[], chosen: Range | undefined): void {
  if (typeof Highlight === "undefined") return;
  CSS.highlights.set("found", new Highlight(...all));
  CSS.highlights.set("chosen", new Highlight(...(chosen ? [chosen] : [])));
}
