// A row of tabs, as ARIA describes it: one stop for the Tab key, arrows between the tabs.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

export interface Tab<Key extends string> {
  key: Key;
  title: ComponentChildren;
  /** Explains the tab on hover. */
  help?: string | undefined;
}

interface Props<Key extends string> {
  /** Name of the group: ids of tabs and panel begin with it. */
  id: string;
  label: string;
  tabs: readonly Tab<Key>[];
  open: Key | undefined;
  onOpen(key: Key): void;
  class?: string;
}

export function Tabs<Key extends string>({ id, label, tabs, open, onOpen, class: look }: Props<Key>): JSX.Element {
  const move = (event: KeyboardEvent): void => {
    const at = tabs.findIndex(({ key }) => key === open);
    const targets: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 };
    const target = targets[event.key];
    const next = target === undefined ? undefined : tabs[(target + tabs.length) % tabs.length];
    if (!next) return;
    event.preventDefault();
    onOpen(next.key);
    document.getElementById(`${id}-tab-${next.key}`)?.focus();
  };
  // Where there are more tabs than room, the open one is seen.
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const tab = list.current?.querySelector<HTMLElement>('[aria-selected="true"]');
    if (!list.current || !tab) return;
    const { offsetLeft, offsetWidth } = tab;
    const { scrollLeft, clientWidth } = list.current;
    if (offsetLeft < scrollLeft) list.current.scrollLeft = offsetLeft;
    else if (offsetLeft + offsetWidth > scrollLeft + clientWidth) list.current.scrollLeft = offsetLeft + offsetWidth - clientWidth;
  }, [open]);
  return (
    <div ref={list} class={`tabs ${look ?? ""}`} role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map(({ key, title, help }) => (
        <button
          key={key}
          id={`${id}-tab-${key}`}
          type="button"
          role="tab"
          class="tab"
          aria-selected={key === open}
          aria-controls={`${id}-panel`}
          tabIndex={key === open ? 0 : -1}
          title={help}
          onClick={() => onOpen(key)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}
