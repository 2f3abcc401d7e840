// Builds `viewer.html`: a file that shows reports by itself (`src/viewer/`), with script and styles in it, and the places where the page puts the
// reports and a number for its policy (`src/exports/html-file.ts`). Nothing in it is fetched from anywhere.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build, type Plugin, type Rolldown } from "vite";
import { viewerNotices } from "../scripts/lib/notices.mjs";
import { NONCE, REPORTS } from "./src/viewer/template.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Parts of the page that need a worker, a device or an editor that can be typed into, and what stands in their place. */
const INSTEAD: readonly (readonly [string, string])[] = [
  ["src/picture/arranger.ts", "src/viewer/arranger.ts"],
  ["src/panes/run.tsx", "src/viewer/absent.tsx"],
  ["src/editor/assist.ts", "src/viewer/absent.tsx"],
];

function instead(): Plugin {
  const known = new Map(INSTEAD.map(([path, other]) => [here(path), here(other)]));
  return {
    name: "instead",
    enforce: "pre",
    async resolveId(source, importer) {
      const found = await this.resolve(source, importer, { skipSelf: true });
      return found && known.get(found.id);
    },
  };
}

/** Code inside of its element, which it can not end. */
const inside = (text: string): string => text.replace(/<(?=\/script|!--)/gi, "\\x3c");

async function bundle(define: Record<string, string>): Promise<{ script: string; style: string }> {
  const made = (await build({
    configFile: false,
    root: here("."),
    base: "./",
    logLevel: "warn",
    publicDir: false,
    define: { ...define, __STILL__: "true", __INTERPRETER_BYTES__: "0", __GPU_BYTES__: "0", __READER_BYTES__: "0" },
    plugins: [instead()],
    build: {
      write: false,
      target: "es2022",
      cssCodeSplit: false,
      modulePreload: false,
      rollupOptions: { input: here("./src/viewer/main.tsx"), output: { codeSplitting: false } },
    },
  })) as Rolldown.RolldownOutput;
  const chunks = made.output.filter((file) => file.type === "chunk");
  const styles = made.output.filter((file) => file.type === "asset" && file.fileName.endsWith(".css"));
  if (chunks.length !== 1 || styles.length !== 1) throw new Error(`the viewer is ${made.output.map(({ fileName }) => fileName).join(", ")}: one script and one style were expected`);
  return { script: chunks[0]!.code, style: String((styles[0] as Rolldown.OutputAsset).source) };
}

const hashOf = (script: string): string => `'sha256-${createHash("sha256").update(script).digest("base64")}'`;

function html({ script, style }: { script: string; style: string }): string {
  const theme = readFileSync(here("./src/theme.js"), "utf8");
  const code = inside(script);
  const icon = Buffer.from(readFileSync(here("./public/icon.svg"))).toString("base64");
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(theme)} ${hashOf(code)}`,
    `style-src 'nonce-${NONCE}'`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${policy.join("; ")}" />
    <meta name="referrer" content="no-referrer" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <link rel="icon" href="data:image/svg+xml;base64,${icon}" />
    <title>AOT Playground</title>
    <script>${theme}</script>
    <style nonce="${NONCE}">${style}</style>
  </head>
  <body>
    <div id="app"></div>
    <noscript>This file shows its report with JavaScript.</noscript>
    <script type="text/plain" id="reports">${REPORTS}</script>
    <script type="text/plain" id="licences">
${viewerNotices().replaceAll("<", "&lt;")}
    </script>
    <script type="module">${code}</script>
  </body>
</html>
`;
}

/** The page offers it as a file of its own, so that it is there without a network, too. */
export function viewer(define: Record<string, string>): Plugin {
  return {
    name: "viewer",
    apply: "build",
    enforce: "post",
    async generateBundle() {
      this.emitFile({ type: "asset", fileName: "viewer.html", source: html(await bundle(define)) });
    },
  };
}
