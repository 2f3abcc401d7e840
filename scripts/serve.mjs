// Serves a folder as a static host would: right types, compressed copies where the browser takes them, long caching for
// files whose name holds a hash. `node scripts/serve.mjs FOLDER [PORT]`; port 0 takes any that is free.
import { createReadStream, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".png": "image/png",
  ".wasm": "application/wasm",
  ".bin": "application/octet-stream",
};
// The page carries its policy itself; workers take theirs from here.
const POLICY = readFileSync(new URL("../www/src/offline/worker-policy.txt", import.meta.url), "utf8").trim();

const HEADERS = { "X-Content-Type-Options": "nosniff", Vary: "Accept-Encoding" };

const size = (path) => {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() ? stat.size : undefined;
};

/** The file that an address asks for; nothing outside the folder. */
function find(root, url) {
  let name;
  try {
    name = decodeURIComponent(new URL(url, "http://localhost").pathname);
  } catch {
    return undefined;
  }
  const path = join(root, normalize(name.endsWith("/") ? `${name}index.html` : name));
  return path.startsWith(root + sep) && !path.includes("\0") ? path : undefined;
}

/** `under` is the path that the folder stands at; `bare` sends no header that a host for files alone would not. */
export function serve(folder, port, { under = "/", bare = false } = {}) {
  const root = resolve(folder);
  const server = createServer((request, response) => {
    const url = request.url ?? "/";
    const path = url.startsWith(under) ? find(root, url.slice(under.length - 1)) : undefined;
    const type = path && TYPES[extname(path)];
    if (!type || size(path) === undefined || !["GET", "HEAD"].includes(request.method ?? "")) {
      response.writeHead(404, { "Content-Type": "text/plain" }).end("Not found\n");
      return;
    }
    const takesBrotli = !bare && /\bbr\b/.test(request.headers["accept-encoding"] ?? "");
    const packed = takesBrotli ? size(`${path}.br`) : undefined;
    const headers = {
      "Content-Type": type,
      "Content-Length": packed ?? size(path),
      ...(bare ? {} : HEADERS),
      "Cache-Control": path.includes(`${sep}assets${sep}`) ? "public, max-age=31536000, immutable" : "no-cache",
    };
    if (packed !== undefined) headers["Content-Encoding"] = "br";
    if (!bare && type.startsWith("text/javascript")) headers["Content-Security-Policy"] = POLICY;
    response.writeHead(200, headers);
    if (request.method === "HEAD") response.end();
    else createReadStream(packed === undefined ? path : `${path}.br`).pipe(response);
  });
  return new Promise((done, fail) => {
    server.on("error", fail);
    server.listen(port, "127.0.0.1", () => done(server));
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const server = await serve(process.argv[2] ?? "www/dist", Number(process.argv[3] ?? 8080));
  console.log(`http://localhost:${server.address().port}/`);
}
