// The bar of a frame in another page: what it is, how its script ran, and the way to the page itself.
import type { JSX } from "preact";
import { address } from "../state/address";
import { Status } from "./header";

export function FrameHeader(): JSX.Element {
  return (
    <header class="header">
      <h1 class="brand">
        <img src={`${import.meta.env.BASE_URL}icon.svg`} alt="" width="20" height="20" />
        AOT Playground
      </h1>
      <Status />
      <a class="button primary" href={`${location.origin}${location.pathname}${address.value}`} target="_blank" rel="noopener">
        Open in the playground
      </a>
    </header>
  );
}
