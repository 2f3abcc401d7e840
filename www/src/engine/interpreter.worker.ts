// Runs scripts. Python is synchronous, so this worker hears nothing while a script runs: whoever wants it to stop ends the
// worker. What becomes known is therefore sent the moment it is known.
import init, { ask, run, set_library_source, warm_up, what_if } from "../../pkg/interpreter/interpreter.js";
import libraryUrl from "../../pkg/interpreter/library.bin?url";
import type { Answer, Event, WhatIf } from "../generated/report";
import type { FromInterpreter, ToInterpreter } from "./protocol";

const post = (message: FromInterpreter): void => self.postMessage(message);

// Messages are taken one after the other: a run may arrive while the module is still starting.
let ready: Promise<unknown> = Promise.resolve();

self.onmessage = ({ data }: MessageEvent<ToInterpreter>): void => {
  ready = ready.then(() => handle(data)).catch((error: unknown) => post({ type: "failed", message: String(error) }));
};

async function handle(message: ToInterpreter): Promise<void> {
  if (message.type === "init") {
    await init({ module_or_path: message.module });
    set_library_source(fetchLibrary);
    // The first run of an interpreter imports what later ones find: let it happen before the visitor waits for it.
    if (!message.waited) {
      run("import torch", { backend: "aot_eager" }, () => {});
      warm_up();
    }
    post({ type: "ready" });
  } else if (message.type === "ask") {
    const { regions, frame, trials } = message;
    try {
      post({ type: "answer", ask: message.ask, answer: what_if([...regions], frame, [...trials]) as WhatIf });
    } catch (error) {
      if (typeof error !== "string") throw error;
      post({ type: "unanswered", ask: message.ask, message: error });
    }
  } else if (message.type === "study") {
    post({ type: "answer", ask: message.ask, answer: ask(message.compilation, message.question) as Answer });
  } else {
    const started = performance.now();
    run(message.program, message.options, (event: Event | string) => post({ type: "event", run: message.run, event }));
    post({ type: "done", run: message.run, took: performance.now() - started });
    // What this script imported, the next one will: imported now, it costs nobody time.
    setTimeout(warm_up, 0);
  }
}

/** The rest of the library. An import waits for it, so it is fetched synchronously, as a worker may. */
function fetchLibrary(): Uint8Array {
  const request = new XMLHttpRequest();
  request.open("GET", libraryUrl, false);
  request.responseType = "arraybuffer";
  request.send();
  if (request.status !== 200) throw new Error(`${request.status} ${request.statusText}`.trim());
  return new Uint8Array(request.response as ArrayBuffer);
}
