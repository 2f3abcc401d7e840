// Light, dark, or as the system is. `src/theme.js` in the page's head has set the colours before this is there.
import { signal } from "@preact/signals";
import { embedded } from "./embedded";
import { onThemeElsewhere, saveTheme } from "./storage";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const known = (text: string | null | undefined): Theme => THEMES.find((name) => name === text) ?? "system";

export const theme = signal<Theme>(known(globalThis.document?.documentElement.dataset.wanted));

/** Shows a theme. */
function show(wanted: Theme): void {
  theme.value = wanted;
  document.documentElement.dataset.wanted = wanted;
  window.dispatchEvent(new Event("theme"));
}

/** Takes the visitor's choice, and remembers it. */
export function chooseTheme(wanted: Theme): void {
  show(wanted);
  if (!embedded) saveTheme(wanted);
}

/** Follows what is chosen in another tab. */
export function followTheme(): void {
  if (!embedded) onThemeElsewhere((text) => show(known(text)));
}

/** Calls back when the colours are others: `src/theme.js` has set another theme. */
export function onThemeChange(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => observer.disconnect();
}
