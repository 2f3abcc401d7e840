// Downloads a WebAssembly module once, telling how far it is, and keeps it compiled for every worker that wants it.

export interface Progress {
  loaded: number;
  total: number;
}

export class ModuleSource {
  #module: Promise<WebAssembly.Module> | undefined;

  /** `bytes` is the size after decompression. The progress counts bytes that travel, where the host says how many they are. */
  constructor(
    private readonly url: string,
    private readonly bytes: number,
  ) {}

  /** The module; a download that failed is tried again by the next call. */
  get(onProgress: (progress: Progress) => void = () => {}): Promise<WebAssembly.Module> {
    this.#module ??= this.#download(onProgress).catch((error: unknown) => {
      this.#module = undefined;
      throw error;
    });
    return this.#module;
  }

  async #download(onProgress: (progress: Progress) => void): Promise<WebAssembly.Module> {
    const response = await fetch(this.url);
    if (!response.ok || !response.body) throw new Error(`${response.status} ${response.statusText}`);
    // What the service worker has kept is there at once; as it came, the browser may use what it compiled of it before.
    if (navigator.serviceWorker?.controller) return WebAssembly.compileStreaming(response);
    const travelling = response.headers.has("Content-Encoding") ? Number(response.headers.get("Content-Length")) : 0;
    const share = travelling > 0 && this.bytes > 0 ? Math.min(1, travelling / this.bytes) : 1;
    let loaded = 0;
    const count = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        loaded += chunk.length;
        onProgress({ loaded: Math.round(share * loaded), total: Math.round(share * Math.max(this.bytes, loaded)) });
        controller.enqueue(chunk);
      },
    });
    const counted = new Response(response.body.pipeThrough(count), { headers: { "Content-Type": "application/wasm" } });
    return WebAssembly.compileStreaming(counted);
  }
}
