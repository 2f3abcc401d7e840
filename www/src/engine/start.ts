// Starts a worker of the crate's: the page sends the compiled module, and from then on Rust takes the messages.
import type { Failed, Init } from "./protocol";

/** `serve` takes over, with what the page said before the module was there. */
export function start(initialize: (module: WebAssembly.Module) => Promise<unknown>, serve: (waiting: unknown[], init: Init) => void): void {
  const waiting: unknown[] = [];
  self.onmessage = async ({ data }: MessageEvent<Init | { type: string }>): Promise<void> => {
    if (!isInit(data)) return void waiting.push(data);
    try {
      await initialize(data.module);
      serve(waiting, data);
    } catch (error) {
      self.postMessage({ type: "failed", message: String(error) } satisfies Failed);
    }
  };
}

function isInit(message: Init | { type: string }): message is Init {
  return message.type === "init";
}
