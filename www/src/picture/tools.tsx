// The tools over the picture: search, zoom, groups.
import type { JSX } from "preact";
import type { PictureModel } from "./session";

export function Tools({ model }: { model: PictureModel }): JSX.Element {
  const { query, matches, match } = model;
  const leave = (event: KeyboardEvent): void => {
    event.stopPropagation();
    query.value = "";
    match.value = -1;
    (event.currentTarget as HTMLElement).closest(".picture")?.querySelector<HTMLElement>(".picture-host")?.focus();
  };
  return (
    <div class="picture-tools" role="toolbar" aria-label="Picture">
      <span class="picture-search">
        <input
          ref={(input) => {
            model.searchField = input;
          }}
          class="input"
          type="search"
          placeholder="Search /"
          aria-label="Search nodes by name, operator or module"
          value={query.value}
          onInput={(event) => {
            query.value = event.currentTarget.value;
            match.value = -1;
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter") model.nextMatch(event.shiftKey ? -1 : 1);
            if (event.key === "Escape") leave(event);
          }}
        />
        <span class="picture-count" role="status">
          {query.value.trim() && (matches.value.length === 0 ? "none" : `${match.value >= 0 ? `${match.value + 1} of ` : ""}${matches.value.length}`)}
        </span>
      </span>
      <span class="picture-buttons">
        <Tool label="Zoom out" keys="-" onClick={() => model.canvas?.zoomBy(0.8)}>
          −
        </Tool>
        <Tool label="Zoom in" keys="+" onClick={() => model.canvas?.zoomBy(1.25)}>
          +
        </Tool>
        <Tool label="Show all" keys="F" onClick={() => model.canvas?.fit()}>
          All
        </Tool>
        <Tool label="Open all modules" keys="E" onClick={() => model.setAll(false)}>
          Open
        </Tool>
        <Tool label="Close all modules" keys="C" onClick={() => model.setAll(true)}>
          Close
        </Tool>
      </span>
    </div>
  );
}

function Tool({ label, keys, onClick, children }: { label: string; keys: string; onClick(): void; children: string }): JSX.Element {
  return (
    <button type="button" class="button small" aria-label={label} title={`${label} (${keys})`} onClick={onClick}>
      {children}
    </button>
  );
}
