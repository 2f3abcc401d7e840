/// <reference types="vite/client" />

/** Bytes of the modules as they are before compression. */
/** What the build is, as `build.ts` says. */
declare const __BUILD__: import("./build").Build;
declare const __INTERPRETER_BYTES__: number;
declare const __GPU_BYTES__: number;
declare const __READER_BYTES__: number;
