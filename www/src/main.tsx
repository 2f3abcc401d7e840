// Puts the page together: the download begins first, the editor can be used while it goes on.
import "./policy";
import { effect } from "@preact/signals";
import { render } from "preact";
import gpuUrl from "../pkg/gpu/gpu_bg.wasm?url";
import readerUrl from "../pkg/reader/reader_bg.wasm?url";
import recordingUrl from "../pkg/recording.json?url";
import interpreterUrl from "../pkg/interpreter/interpreter_bg.wasm?url";
import { ModuleSource } from "./engine/module";
import { prepareExports } from "./exports/make";
import example from "./gallery/examples/mlp.py?raw";
import { Layout } from "./layout/layout";
import { keepOffline } from "./offline/register";
import { followAddress, forgetAddress, notice, onLesson, openFromAddress } from "./state/address";
import { prepareBeside } from "./state/beside";
import { embedded, fits } from "./state/embedded";
import { acceptDrops, recognizePastes } from "./state/files";
import { tellHeight } from "./state/fit";
import { prepareGpu } from "./state/gpu";
import { onlyPane } from "./state/layout";
import { prepareLadder } from "./state/ladder";
import { beginLesson } from "./state/lesson";
import { prepareMinimizing } from "./state/minimize";
import { prepareReader } from "./state/logs";
import { fetchRecording } from "./state/recording";
import { followOtherTabs, keep, untouched } from "./state/script";
import { select } from "./state/selection";
import { engine, startEngine } from "./state/session";
import { followTheme } from "./state/theme";
import { followTitle } from "./state/title";
import { Dialogs } from "./ui/dialogs";
import { DropHint } from "./ui/drop";
import { FrameFooter, FrameHeader } from "./ui/frame";
import { Header } from "./ui/header";
import { LogBar } from "./ui/log-bar";
import { LessonBar } from "./ui/lesson";
import { NoticeBar } from "./ui/notice";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/panes.css";
import "./styles/dialogs.css";

/** The longest that the interpreter waits for what is seen before it. */
const PATIENCE_MS = 400;

const interpreter = new ModuleSource(interpreterUrl, __INTERPRETER_BYTES__);
const interpreterWorker = (): Worker => new Worker(new URL("./engine/interpreter.worker.ts", import.meta.url), { type: "module" });
prepareBeside(interpreter, interpreterWorker);
prepareMinimizing(interpreter, interpreterWorker);
prepareLadder(interpreter, interpreterWorker);
prepareExports(interpreter, () => new Worker(new URL("./engine/export.worker.ts", import.meta.url), { type: "module" }));
prepareGpu(
  new ModuleSource(gpuUrl, __GPU_BYTES__),
  () => new Worker(new URL("./engine/gpu.worker.ts", import.meta.url), { type: "module" }),
);
void prepareReader(
  new ModuleSource(readerUrl, __READER_BYTES__),
  () => new Worker(new URL("./engine/reader.worker.ts", import.meta.url), { type: "module" }),
);

onLesson(beginLesson);
// The module is on its way already; what is seen at once comes before it is compiled, and before a worker starts.
const atOnce = openFromAddress(example, () => fetchRecording(recordingUrl));
void Promise.race([atOnce, new Promise((done) => setTimeout(done, PATIENCE_MS))]).then(() => startEngine(interpreter, interpreterWorker));
window.addEventListener("hashchange", () => void followAddress());
// An edited script is no longer what the address stands for.
effect(() => {
  if (untouched.value) return;
  forgetAddress();
  if (notice.peek()?.ofLink && !notice.peek()?.restore) notice.value = undefined;
});
window.addEventListener("pagehide", keep);
followTheme();
followTitle();
followOtherTabs();
window.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.defaultPrevented) select(undefined);
});
if (!embedded) {
  acceptDrops();
  recognizePastes();
}
// What is needed now comes first.
if (import.meta.env.PROD && !embedded) {
  const stop = effect(() => {
    if (engine.value.state !== "ready") return;
    queueMicrotask(() => stop());
    setTimeout(() => void keepOffline(), 2000);
  });
}

const root = document.getElementById("app");
if (root) {
  document.documentElement.classList.toggle("embedded", embedded);
  document.documentElement.classList.toggle("fits", fits);
  if (fits) tellHeight(root);
  render(
    <>
      {!embedded ? <Header /> : !onlyPane && <FrameHeader />}
      <NoticeBar />
      <LogBar />
      <LessonBar />
      <main class="main">
        <Layout />
      </main>
      {onlyPane && <FrameFooter />}
      <Dialogs />
      <DropHint />
    </>,
    root,
  );
}
