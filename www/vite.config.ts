// Builds the page. The WebAssembly modules come from wasm-pack (scripts/build.mjs) and lie in pkg/.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin, type Rolldown } from "vite";
import { viewer } from "./viewer.ts";

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

/** The picture that stands beside links, which no visitor of the page needs. */
const CARD = "card.png";

const { version } = JSON.parse(readFileSync(here("./package.json"), "utf8")) as { version: string };
const build = { version, commit: commit(), source: address("PAGE_SOURCE"), tracker: address("PAGE_TRACKER") };

/** What a page's policy names a script in it by. */
const hashOf = (script: string): string => `'sha256-${createHash("sha256").update(script).digest("base64")}'`;

/** What the page needs at once is two files, of its own and of others, and not a file for each set of parts that come later and share it. */
function firstFiles(): Rolldown.CodeSplittingNameFunction {
  let first: Set<string> | undefined;
  const main = here("./src/main.tsx");
  return (id, context) => {
    const all = (from: string, found = new Set<string>()): Set<string> => {
      if (!found.has(from)) context.getModuleInfo(found.add(from) && from)?.importedIds.forEach((next) => all(next, found));
      return found;
    };
    if (!first) {
      const elsewhere = all(here("./src/operators.ts"));
      first = new Set([...all(main)].filter((one) => !elsewhere.has(one)));
    }
    // What puts them together is the module that the page begins with.
    if (!first.has(id) || id === main || id.endsWith(".css")) return null;
    return id.includes("/node_modules/") ? "others" : "page";
  };
}

/** `embed.html`: the page as a frame in another page, which fetches what the page begins with when it is seen. */
function frame(): Plugin {
  return {
    name: "frame",
    enforce: "post",
    generateBundle(_options, bundle) {
      const index = bundle["index.html"];
      if (index?.type !== "asset") return;
      let html = String(index.source);
      /** Takes tags out of the page, and gives the addresses in them. */
      const take = (tag: RegExp): string[] => {
        const found = [...html.matchAll(tag)];
        html = html.replace(tag, "");
        return found.map(([, address = ""]) => address);
      };
      const entries = take(/^ *<script type="module" [^>]*src="([^"]+)"><\/script>\n/gm);
      if (entries.length === 0) throw new Error("the page begins with no module");
      const styles = take(/^ *<link rel="stylesheet" [^>]*href="([^"]+)">\n/gm);
      const modules = take(/^ *<link rel="modulepreload" [^>]*href="([^"]+)">\n/gm);
      take(/^ *<link rel="preload" [^>]*href="([^"]+)"[^>]*>\n/gm);
      // What describes the page, which a frame is not.
      html = html.replace(/^ *<meta (?:property="og:|name="twitter:)[^>]*>\n/gm, "");
      const script = readFileSync(here("./src/frame.js"), "utf8").replace("FILES", JSON.stringify({ styles, modules, entries }));
      html = html.replace("script-src 'self'", () => `script-src 'self' ${hashOf(script)}`).replace("  </head>", () => `    <script>${script}</script>\n  </head>`);
      this.emitFile({ type: "asset", fileName: "embed.html", source: html });
    },
  };
}

/** Every page's head begins with `src/head.html`, and holds `src/theme.js`, which its policy names by its hash. */
function head(): Plugin {
  const shared = readFileSync(here("./src/head.html"), "utf8").trim().replaceAll("\n", "\n    ");
  const theme = readFileSync(here("./src/theme.js"), "utf8");
  const handler = (html: string): string =>
    html
      .replace("<!-- head -->", () => shared)
      .replace("<!-- theme.js -->", () => `<script>${theme}</script>`)
      .replace("{theme.js}", hashOf(theme))
      .replace("<!-- card -->", card);
  return { name: "head", transformIndexHtml: { order: "pre", handler } };
}

/** What other pages show of a link to this one: the same of all, since nobody but the browser sees what stands behind the `#`. */
function card(): string {
  const host = address("PAGE_HOST").replace(/\/?$/, "/");
  const properties: Record<string, string> = { title: "AOT Playground", type: "website", description: "Paste a PyTorch script and see what torch.compile does with it, in your browser." };
  // The picture's address must be whole.
  if (host !== "/") Object.assign(properties, { url: host, image: `${host}${CARD}`, "image:width": "1200", "image:height": "630" });
  const tags = Object.entries(properties).map(([name, content]) => `<meta property="og:${name}" content="${content}" />`);
  return [...tags, ...(host === "/" ? [] : ['<meta name="twitter:card" content="summary_large_image" />'])].join("\n    ");
}

/** Tells the service worker which files there are, and a version that changes with any of them. */
function manifest(): Plugin {
  return {
    name: "manifest",
    enforce: "post",
    generateBundle(_options, bundle) {
      const hash = createHash("sha256");
      const open = readdirSync(here("./public")).filter((name) => name !== CARD);
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
    __BUILD__: JSON.stringify(build), __STILL__: "false",
    __INTERPRETER_BYTES__: bytes("interpreter"), __GPU_BYTES__: bytes("gpu"), __READER_BYTES__: bytes("reader"),
  },
  plugins: [head(), frame(), viewer({ __BUILD__: JSON.stringify(build) }), manifest()],
  // Files outside www/ are read by the tests too: the kept list of operators.
  server: { fs: { allow: [".."] } },
  build: {
    rollupOptions: {
      input: { index: here("./index.html"), operators: here("./operators.html"), sw: here("./src/offline/worker.ts") },
      // A service worker governs what lies below it.
      output: {
        entryFileNames: ({ name }) => (name === "sw" ? "sw.js" : "assets/[name]-[hash].js"),
        codeSplitting: { includeDependenciesRecursively: false, groups: [{ name: firstFiles(), debugName: "first files" }] },
      },
    },
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1000,
  },
  worker: { format: "es" },
  test: { environment: "happy-dom", include: ["tests/**/*.test.{ts,tsx,mjs}"] },
});
