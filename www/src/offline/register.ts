// Keeps the page for visits without a network, and says when a newer version of it is there.
import { signal } from "@preact/signals";

/** Brings the newer version, where there is one. */
export const update = signal<(() => void) | undefined>(undefined);

/** Registers the service worker; called when everything that the page needs now has arrived. */
export async function keepOffline(): Promise<void> {
  if (!("serviceWorker" in navigator)) return;
  const { serviceWorker } = navigator;
  try {
    const registration = await serviceWorker.register("./sw.js", { updateViaCache: "none" });
    // Another tab may have let the newer version take over: the files of the one that this tab shows are no longer kept.
    let hasController = serviceWorker.controller !== null;
    serviceWorker.addEventListener("controllerchange", () => {
      if (hasController) update.value = () => location.reload();
      hasController = true;
    });
    const offer = (waiting: ServiceWorker | null): void => {
      // Without a controller it is the first version, and nothing newer.
      if (waiting && serviceWorker.controller) update.value = () => takeOver(waiting);
    };
    offer(registration.waiting);
    registration.addEventListener("updatefound", () => {
      const next = registration.installing;
      next?.addEventListener("statechange", () => next.state === "installed" && offer(next));
    });
  } catch {
    // Storage may be forbidden or full: the page works, as long as there is a network.
  }
}

function takeOver(waiting: ServiceWorker): void {
  navigator.serviceWorker.addEventListener("controllerchange", () => location.reload(), { once: true });
  waiting.postMessage("take over");
}
