// A component that is fetched when it is first shown.
import { signal } from "@preact/signals";
import type { ComponentType, JSX } from "preact";

export function later(load: () => Promise<{ default: ComponentType }>): () => JSX.Element {
  const loaded = signal<ComponentType | undefined>(undefined);
  const failed = signal(false);
  let asked = false;
  const fetchIt = (): void => {
    asked = true;
    failed.value = false;
    load().then(
      (module) => (loaded.value = module.default),
      () => (failed.value = true),
    );
  };
  return () => {
    if (!asked) fetchIt();
    const Component = loaded.value;
    if (Component) return <Component />;
    if (!failed.value) return <p class="empty">Loading…</p>;
    return (
      <p class="empty">
        This part of the page could not be loaded.{" "}
        <button type="button" class="link" onClick={fetchIt}>
          Try again
        </button>
      </p>
    );
  };
}
