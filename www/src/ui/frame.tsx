// The bar of a frame in another page: what it is, how its script ran, and the way to the page itself. Below a view that stands alone it is a
// line.
import type { JSX } from "preact";
import { address } from "../state/address";
import { home } from "../state/embedded";
import { Status } from "./header";

function Name(): JSX.Element {
  return (
    <h1 class="brand">
      <img src={`${import.meta.env.BASE_URL}icon.svg`} alt="" width="20" height="20" />
      AOT Playground
    </h1>
  );
}

const way = (): string => `${home()}${address.value}`;

export function FrameHeader(): JSX.Element {
  return (
    <header class="header">
      <Name />
      <Status />
      <a class="button primary" href={way()} target="_blank" rel="noopener">
        Open in the playground
      </a>
    </header>
  );
}

export function FrameFooter(): JSX.Element {
  return (
    <footer class="frame-line">
      <Name />
      <Status />
      <a href={way()} target="_blank" rel="noopener">
        Open
      </a>
    </footer>
  );
}
