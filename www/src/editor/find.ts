// Search in a text, with the number of matches and which of them is chosen: "3 of 17". The script's can replace, too.
import { closeSearchPanel, findNext, findPrevious, getSearchQuery, openSearchPanel, replaceAll, replaceNext, search, searchKeymap, searchPanelOpen, SearchQuery, setSearchQuery } from "@codemirror/search";
import type { Extension } from "@codemirror/state";
import { type EditorView, keymap, type Panel, runScopeHandlers, type ViewUpdate } from "@codemirror/view";

/** Matches that are counted at most. */
const MOST = 10_000;

/** Search, with its keys. */
export const find: Extension = [search({ top: true, createPanel: (view) => new FindPanel(view) }), keymap.of(searchKeymap)];

/** Opens the search, for those who have no key for it. */
export function openFind(view: EditorView): void {
  openSearchPanel(view);
}

/** Keeps an open search for when the view has another text: gives what opens it there, where the keyboard stays where it is. */
export function keptFind(view: EditorView): () => void {
  if (!searchPanelOpen(view.state)) return () => {};
  const query = getSearchQuery(view.state);
  return () => {
    const before = document.activeElement;
    openSearchPanel(view);
    view.dispatch({ effects: setSearchQuery.of(query) });
    if (before instanceof HTMLElement) before.focus();
  };
}

/** How many matches there are, and which is chosen. */
export function countText(at: number, all: number): string {
  if (all === 0) return "none";
  const many = all > MOST ? `more than ${MOST}` : String(all);
  return at > 0 ? `${at} of ${many}` : many;
}

class FindPanel implements Panel {
  readonly top = true;
  readonly dom = element("div", "find");
  readonly #wanted = field("Find");
  readonly #other = field("Replace with");
  readonly #count = element("output", "find-count");
  readonly #case: HTMLInputElement;
  readonly #regexp: HTMLInputElement;

  constructor(private readonly view: EditorView) {
    const query = getSearchQuery(view.state);
    this.#wanted.value = query.search;
    this.#wanted.setAttribute("main-field", "true");
    this.#other.value = query.replace;
    const tell = (): void => this.#commit();
    const [caseLabel, caseBox] = check("Aa", "Match case", query.caseSensitive, tell);
    const [regexpLabel, regexpBox] = check(".*", "Regular expression", query.regexp, tell);
    this.#case = caseBox;
    this.#regexp = regexpBox;
    for (const input of [this.#wanted, this.#other]) input.oninput = tell;
    this.dom.append(
      this.#wanted,
      this.#count,
      button("↑", "Previous match", () => findPrevious(view)),
      button("↓", "Next match", () => findNext(view)),
      caseLabel,
      regexpLabel,
      ...(view.state.readOnly ? [] : [this.#other, button("Replace", "", () => replaceNext(view)), button("All", "Replace all", () => replaceAll(view))]),
      button("✕", "Close the search", () => closeSearchPanel(view)),
    );
    this.dom.onkeydown = (event) => {
      if (runScopeHandlers(view, event, "search-panel")) event.preventDefault();
      else if (event.key === "Enter" && event.target === this.#wanted) {
        event.preventDefault();
        (event.shiftKey ? findPrevious : findNext)(view);
      } else if (event.key === "Enter" && event.target === this.#other) {
        event.preventDefault();
        replaceNext(view);
      }
    };
    this.#tell();
  }

  mount(): void {
    this.#wanted.select();
  }

  update(update: ViewUpdate): void {
    const query = getSearchQuery(update.state);
    const changed = !query.eq(getSearchQuery(update.startState));
    if (changed && query.search !== this.#wanted.value) this.#wanted.value = query.search;
    if (changed || update.docChanged || update.selectionSet) this.#tell();
  }

  #commit(): void {
    const query = new SearchQuery({
      search: this.#wanted.value,
      replace: this.#other.value,
      caseSensitive: this.#case.checked,
      regexp: this.#regexp.checked,
    });
    if (!query.eq(getSearchQuery(this.view.state))) this.view.dispatch({ effects: setSearchQuery.of(query) });
  }

  #tell(): void {
    const { state } = this.view;
    const query = getSearchQuery(state);
    if (!query.search || !query.valid) {
      this.#count.textContent = query.search ? "not a regular expression" : "";
      return;
    }
    const { from, to } = state.selection.main;
    let all = 0;
    let at = 0;
    const matches = query.getCursor(state);
    for (let next = matches.next(); !next.done && all <= MOST; next = matches.next()) {
      all += 1;
      if (next.value.from === from && next.value.to === to) at = all;
    }
    this.#count.textContent = countText(at, all);
  }
}

function element<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, className: string): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  made.className = className;
  return made;
}

function field(label: string): HTMLInputElement {
  const input = element("input", "input");
  input.placeholder = label;
  input.setAttribute("aria-label", label);
  return input;
}

function button(text: string, label: string, act: () => void): HTMLButtonElement {
  const made = element("button", "button");
  made.type = "button";
  made.textContent = text;
  if (label) {
    made.title = label;
    made.setAttribute("aria-label", label);
  }
  made.onclick = act;
  return made;
}

function check(text: string, label: string, checked: boolean, changed: () => void): [HTMLLabelElement, HTMLInputElement] {
  const box = element("input", "");
  box.type = "checkbox";
  box.checked = checked;
  box.onchange = changed;
  box.setAttribute("aria-label", label);
  const around = element("label", "check");
  around.title = label;
  around.append(box, text);
  return [around, box];
}
