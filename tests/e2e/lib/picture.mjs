// The picture of a graph, seen from outside: once it has come to rest, and while it is panned.
import { eventsOf } from "./transformer.mjs";

/** Where the focus is in the picture, its corner on the page, and what it shows: once all of it has come to rest. */
export const atRest = (page) =>
  page.evaluate(
    () =>
      new Promise((done) => {
        const host = document.querySelector(".picture-host");
        let before;
        const look = () => {
          const { left, top } = host.getBoundingClientRect();
          const { focusAt = "", moves, scale, at } = host.dataset;
          const now = host.ariaBusy === "true" || moves !== undefined ? undefined : [focusAt, scale, at, left, top].join(" ");
          if (now !== undefined && now === before) done({ focus: focusAt.split(" ").map(Number), corner: [left, top], scale: Number(scale), at });
          else requestAnimationFrame(look);
          before = now;
        };
        requestAnimationFrame(look);
      }),
  );

/** Opens every module. */
export async function openAll(page) {
  const before = await page.locator(".picture-host").getAttribute("data-items");
  await page.getByRole("button", { name: "Open all modules" }).click();
  await page.waitForFunction((old) => document.querySelector(".picture-host").dataset.items !== old, before);
  await atRest(page);
}

/** Prepares a page whose interpreter answers every run with a report of so many transformer blocks. */
export function answers(blocks) {
  const events = JSON.stringify(eventsOf(blocks));
  const body = `const events = ${events};
    self.onmessage = ({ data }) => {
      if (data.type === "init") return postMessage({ type: "ready" });
      for (const event of events) postMessage({ type: "event", run: data.run, event });
      postMessage({ type: "done", run: data.run });
    };`;
  return (page) => page.context().route(/interpreter\.worker/, (route) => route.fulfill({ contentType: "text/javascript", body }));
}

/** Pans by wheel in every frame; gives frames a second and the tiles that were drawn. */
export const pan = (page, frames) =>
  page.evaluate(
    (count) =>
      new Promise((done) => {
        const host = document.querySelector(".picture-host");
        const canvas = host.querySelector("canvas");
        const tiles = () => Number(host.dataset.tiles);
        const drawn = tiles();
        const times = [];
        const step = (now) => {
          times.push(now);
          if (times.length > count) {
            done({ rate: (1000 * count) / (times.at(-1) - times[0]), tiles: tiles() - drawn });
            return;
          }
          const turn = Math.sin(times.length / 40);
          canvas.dispatchEvent(new WheelEvent("wheel", { deltaX: 6 * turn, deltaY: 18, bubbles: true, cancelable: true }));
          requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      }),
    frames,
  );
