// The picture's colours and font: the page's own custom properties, read when they may have changed.

export interface Theme {
  surface: string;
  text: string;
  muted: string;
  border: string;
  wire: string;
  forward: string;
  backward: string;
  saved: string;
  recomputed: string;
  mutated: string;
  accent: string;
  linked: string;
  match: string;
  mono: string;
  sans: string;
}

export function readTheme(element: Element): Theme {
  const style = getComputedStyle(element);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  return {
    surface: read("--surface"),
    text: read("--text"),
    muted: read("--muted"),
    border: read("--border-strong"),
    wire: read("--wire"),
    forward: read("--forward"),
    backward: read("--backward"),
    saved: read("--saved"),
    recomputed: read("--recomputed"),
    mutated: read("--mutated"),
    accent: read("--focus"),
    linked: read("--linked-strong"),
    match: read("--match-strong"),
    mono: read("--mono"),
    sans: read("--sans"),
  };
}
