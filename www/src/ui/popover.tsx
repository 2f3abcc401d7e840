// A button with a panel that opens below it: the browser's own popover, which closes by Escape and by a click elsewhere.
import type { ComponentChildren, JSX } from "preact";
import { useId, useRef } from "preact/hooks";

interface Props {
  /** What the button says. */
  button: ComponentChildren;
  /** What the panel is, for those who cannot see it. */
  label: string;
  class?: string;
  onOpen?(): void;
  children: ComponentChildren;
}

export function Popover({ button, label, class: look, onOpen, children }: Props): JSX.Element {
  const id = useId();
  const opener = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  // Below its button, and within the window.
  const place = (): void => {
    const box = opener.current?.getBoundingClientRect();
    if (!box || !panel.current) return;
    panel.current.style.top = `${box.bottom + 6}px`;
    panel.current.style.right = `${Math.max(8, Math.min(innerWidth - box.right, innerWidth - 380))}px`;
  };
  return (
    <>
      <button ref={opener} type="button" class={`button ${look ?? ""}`} popovertarget={id} aria-haspopup="dialog">
        {button}
      </button>
      <div
        ref={panel}
        id={id}
        popover="auto"
        class="popover"
        role="dialog"
        aria-label={label}
        onBeforeToggle={(event) => {
          if (event.newState !== "open") return;
          place();
          onOpen?.();
        }}
      >
        {children}
      </div>
    </>
  );
}
