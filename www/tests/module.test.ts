import { afterEach, expect, it, vi } from "vitest";
import { ModuleSource, type Progress } from "../src/engine/module";

afterEach(() => vi.unstubAllGlobals());

/** What a download of `bytes`, in chunks, tells of its progress, where the host sends these headers. */
async function told(bytes: number, headers: Record<string, string>): Promise<Progress[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < 4; at += 1) controller.enqueue(new Uint8Array(bytes / 4));
      controller.close();
    },
  });
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(body, { headers })));
  vi.stubGlobal("WebAssembly", { compileStreaming: async (response: Response) => void (await response.arrayBuffer()) });
  const progress: Progress[] = [];
  await new ModuleSource("http://h/module.wasm", bytes).get((now) => progress.push(now));
  return progress;
}

it("counts bytes that travel, where the host says how many", async () => {
  expect(await told(4000, { "Content-Encoding": "br", "Content-Length": "1000" })).toEqual([250, 500, 750, 1000].map((loaded) => ({ loaded, total: 1000 })));
});

it.each([{}, { "Content-Length": "4000" }, { "Content-Encoding": "gzip" }] as Record<string, string>[])("counts bytes as they are where it does not: %j", async (headers) => {
  expect(await told(4000, headers)).toEqual([1000, 2000, 3000, 4000].map((loaded) => ({ loaded, total: 4000 })));
});
