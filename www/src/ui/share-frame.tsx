// A frame for another page: what it shows, in which theme, and whether it is as high as that.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { copy } from "../exports/deliver";
import { frameMarkup, type FrameOptions } from "../exports/text";
import { THEMES } from "../state/theme";

/** What a frame shows: its title, and the frame's options. */
const SHOWN: readonly (readonly [string, FrameOptions])[] = [
  ["script and graphs", {}],
  ["script and output", { panes: "script,output" }],
  ["script and saved values", { panes: "script,saved" }],
  ["the graph's picture alone", { only: "picture" }],
  ["the graph's text alone", { only: "text" }],
  ["the graph's table alone", { only: "table" }],
  ["saved values alone", { only: "saved" }],
  ["the output alone", { only: "output" }],
];

const shown = signal(0);
const theme = signal("system");
const fits = signal(false);

export function ShareFrame({ href }: { href: string }): JSX.Element {
  const markup = (): string =>
    frameMarkup(href, { ...SHOWN[shown.value]?.[1], ...(theme.value === "system" ? {} : { theme: theme.value }), ...(fits.value ? { fits: true } : {}) });
  return (
    <details class="share-frame">
      <summary>Frame for another page</summary>
      <label class="field">
        Shows
        <select class="select" value={String(shown.value)} onChange={({ currentTarget }) => (shown.value = Number(currentTarget.value))}>
          {SHOWN.map(([title], at) => (
            <option key={title} value={String(at)}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        Theme
        <select class="select" value={theme.value} onChange={({ currentTarget }) => (theme.value = currentTarget.value)}>
          {THEMES.map((name) => (
            <option key={name} value={name}>
              {name === "system" ? "the reader's" : name}
            </option>
          ))}
        </select>
      </label>
      <label class="check">
        <input type="checkbox" checked={fits.value} onChange={({ currentTarget }) => (fits.value = currentTarget.checked)} />
        As high as what it shows (takes a script in the other page)
      </label>
      <button type="button" class="button" onClick={() => void copy(markup(), "The frame")}>
        Copy the frame
      </button>
    </details>
  );
}
