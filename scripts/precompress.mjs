// Writes a brotli-compressed copy beside every file of a folder that gains by it, for servers that hand out such copies. `--quick`
// compresses less, for tests.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { ROOT } from "./lib/config.mjs";

// The most that the interpreter, which every visit fetches, may be: in bytes, compressed.
const LARGEST_INTERPRETER = 4.8e6;

const [folder, ...options] = process.argv.slice(2);
const quick = options.includes("--quick");
const quality = quick ? 4 : 11;
// Compressing the interpreter takes a while: what was compressed once is found by its content.
const cache = join(ROOT, "target", "brotli");
mkdirSync(cache, { recursive: true });

let raw = 0;
let packed = 0;
for (const name of readdirSync(folder, { recursive: true })) {
  const path = join(folder, name);
  if (!statSync(path).isFile() || !/\.(html|js|css|svg|wasm|bin|json|txt)$/.test(name)) continue;
  const content = readFileSync(path);
  const compressed = compress(content);
  raw += content.length;
  packed += compressed.length;
  if (!quick && /interpreter_bg.*\.wasm$/.test(name) && compressed.length > LARGEST_INTERPRETER) {
    throw new Error(`the interpreter is ${compressed.length} bytes, compressed: more than ${LARGEST_INTERPRETER}`);
  }
  if (compressed.length < content.length) writeFileSync(`${path}.br`, compressed);
}
console.log(`${(raw / 1e6).toFixed(2)} MB in ${folder}, ${(packed / 1e6).toFixed(2)} MB compressed`);

function compress(content) {
  const known = join(cache, createHash("sha256").update(`${quality} `).update(content).digest("hex"));
  if (existsSync(known)) return readFileSync(known);
  const compressed = brotliCompressSync(content, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: quality,
      [constants.BROTLI_PARAM_LGWIN]: 24,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    },
  });
  writeFileSync(known, compressed);
  return compressed;
}
