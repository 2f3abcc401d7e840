/// <reference types="vite/client" />

/** What the build is, as `build.ts` says. */
declare const __BUILD__: import("./build").Build;
/** Whether a file that holds a report is built, and not the page. */
declare const __STILL__: boolean;
/** Bytes of the modules as they are before compression. */
declare const __INTERPRETER_BYTES__: number;
declare const __GPU_BYTES__: number;
declare const __READER_BYTES__: number;
