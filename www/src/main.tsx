// Puts the page together: the download begins first, the editor can be used while it goes on.
import { effect } from "@preact/signals";
import { render } from "preact";
import gpuUrl from "../pkg/gpu/gpu_bg.wasm?url";
import interpreterUrl from "../pkg/interpreter/interpreter_bg.wasm?url";
import { ModuleSource } from "./engine/module";
import example from "./examples/mlp.py?raw";
import { Layout } from "./layout/layout";
import { followAddress, forgetAddress, openFromAddress } from "./state/address";
import { prepareGpu } from "./state/gpu";
import { untouched } from "./state/script";
import { select } from "./state/selection";
import { startEngine } from "./state/session";
import { Header } from "./ui/header";
import { NoticeBar } from "./ui/notice";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/panes.css";

void startEngine(
  new ModuleSource(interpreterUrl, __INTERPRETER_BYTES__),
  () => new Worker(new URL("./engine/interpreter.worker.ts", import.meta.url), { type: "module" }),
);
prepareGpu(
  new ModuleSource(gpuUrl, __GPU_BYTES__),
  () => new Worker(new URL("./engine/gpu.worker.ts", import.meta.url), { type: "module" }),
);

void openFromAddress(example);
window.addEventListener("hashchange", () => void followAddress());
// An edited script is no longer what the address stands for.
effect(() => {
  if (!untouched.value) forgetAddress();
});
window.addEventListener("keydown", (event) => {
  if (event.key === "Escape") select(undefined);
});

const root = document.getElementById("app");
if (root) {
  render(
    <>
      <Header />
      <NoticeBar />
      <main class="main">
        <Layout />
      </main>
    </>,
    root,
  );
}
