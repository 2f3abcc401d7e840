// A frame that is as high as what it shows: it tells the page around it how high that is, again whenever that changes.

/** The message that the page around it gets: `{ type: "aot-playground height", height: 312 }`. */
export const HEIGHT = "aot-playground height";

/** Watches an element, and tells the page around. */
export function tellHeight(element: Element): void {
  let told = 0;
  new ResizeObserver(() => {
    const height = Math.ceil(element.getBoundingClientRect().height);
    if (height === told) return;
    told = height;
    // Whoever shows the frame may know: it is the height of what they see.
    window.parent.postMessage({ type: HEIGHT, height }, "*");
  }).observe(element);
}
