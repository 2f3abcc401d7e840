// Builds the page. The WebAssembly modules come from wasm-pack (scripts/build.mjs) and lie in pkg/.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Size of a built module: a compressed download does not tell how large it will be. */
function bytes(name: string): number {
  return statSync(here(`./pkg/${name}/${name}_bg.wasm`), { throwIfNoEntry: false })?.size ?? 0;
}

/** An address that the environment sets; none where it does not. */
function address(name: string): string {
  const value = process.env[name]?.trim() ?? "";
  if (value !== "" && !/^https?:\/\/[^\s<>"]+$/.test(value)) throw new Error(`${name} is no address: ${value}`);
  return value;
}

/** The commit that is built: as it is named from outside, else as git says. */
function commit(): string {
  if (process.env.PAGE_COMMIT !== undefined) return process.env.PAGE_COMMIT.slice(0, 9);
  try {
    return execFileSync("git", ["rev-parse", "--short=9", "HEAD"], { cwd: here("."), encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return "";
  }
}

const { version } = JSON.parse(readFileSync(here("./package.json"), "utf8")) as { version: string };
const build = { version, commit: commit(), source: address("PAGE_SOURCE"), tracker: address("PAGE_TRACKER") };

/** Every page's head begins with `src/head.html`, and holds `src/theme.js`, which its policy names by its hash. */
function head(): Plugin {
  const shared = readFileSync(here("./src/head.html"), "utf8").trim().replaceAll("\n", "\n    ");
  const theme = readFileSync(here("./src/theme.js"), "utf8");
  const hash = createHash("sha256").update(theme).digest("base64");
  const handler = (html: string): string =>
    html
      .replace("<!-- head -->", () => shared)
      .replace("<!-- theme.js -->", () => `<script>${theme}</script>`)
      .replace("{theme.js}", `'sha256-${hash}'`);
  return { name: "head", transformIndexHtml: { order: "pre", handler } };
}

/** Tells the service worker which files there are, and a version that changes with any of them. */
function manifest(): Plugin {
  return {
    name: "manifest",
    enforce: "post",
    generateBundle(_options, bundle) {
      const hash = createHash("sha256");
      const open = readdirSync(here("./public"));
      for (const name of open) hash.update(readFileSync(here(`./public/${name}`)));
      const files = [...open];
      for (const [name, file] of Object.entries(bundle).sort(([a], [b]) => (a < b ? -1 : 1))) {
        hash.update(name).update(file.type === "chunk" ? file.code : file.source);
        if (name !== "sw.js") files.push(name);
      }
      const worker = bundle["sw.js"];
      if (worker?.type !== "chunk") return;
      const text = JSON.stringify(JSON.stringify({ version: hash.digest("hex").slice(0, 16), files }));
      worker.code = worker.code.replace(/(["'`])__MANIFEST__\1/, () => text);
    },
  };
}

export default defineConfig({
  // Relative addresses: the page works under any path.
  base: "./",
  define: {
    __BUILD__: JSON.stringify(build),
    __INTERPRETER_BYTES__: bytes("interpreter"), __GPU_BYTES__: bytes("gpu"), __READER_BYTES__: bytes("reader"),
  },
  plugins: [head(), manifest()],
  // Files outside www/ are read by the tests too: the kept list of operators.
  server: { fs: { allow: [".."] } },
  build: {
    rollupOptions: {
      input: { index: here("./index.html"), operators: here("./operators.html"), sw: here("./src/offline/worker.ts") },
      // A service worker governs what lies below it.
      output: { entryFileNames: ({ name }) => (name === "sw" ? "sw.js" : "assets/[name]-[hash].js") },
    },
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1000,
  },
  worker: { format: "es" },
  test: { environment: "happy-dom", include: ["tests/**/*.test.{ts,tsx,mjs}"] },
});
