// Makes exports, in an instance of its own: a script that never ends does not hold them up.
import init, { export_graph, export_logs } from "../../pkg/interpreter/interpreter.js";
import type { FromExport, ToExport } from "./protocol";

const post = (message: FromExport): void => self.postMessage(message);

let ready: Promise<unknown> = Promise.resolve();

self.onmessage = ({ data }: MessageEvent<ToExport>): void => {
  ready = ready.then(() => handle(data)).catch((error: unknown) => post({ type: "failed", message: String(error) }));
};

async function handle(message: ToExport): Promise<void> {
  if (message.type === "init") await init({ module_or_path: message.module });
  else if (message.type === "logs") post({ type: "made", text: export_logs(message.report) });
  else post({ type: "made", text: export_graph(message.readable, message.format, message.about, message.bundle) });
}
