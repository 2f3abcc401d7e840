// A file that shows the reports in it: the page's own panes, without anything that computes. The build puts all of it into one HTML file
// (`viewer.ts` beside the build's settings), and the page puts the reports in (`exports/html-file.ts`).
import "./nonce";
import { render } from "preact";
import { Layout } from "../layout/layout";
import { select } from "../state/selection";
import { followTitle } from "../state/title";
import { Bar, Comparison } from "./bar";
import { unpack } from "./kept";
import { kept, showPart } from "./parts";
import "../styles/base.css";
import "../styles/layout.css";
import "../styles/panes.css";
import "../styles/dialogs.css";
import "./viewer.css";

const root = document.getElementById("app");
if (root) {
  try {
    kept.value = await unpack(document.getElementById("reports")?.textContent ?? "");
    showPart(0);
    followTitle();
    window.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented) select(undefined);
    });
    render(
      <>
        <Bar />
        <main class="main">
          <Layout />
        </main>
        <Comparison />
      </>,
      root,
    );
  } catch {
    render(<p class="empty">This file holds no report, or a part of it was lost.</p>, root);
  }
}
