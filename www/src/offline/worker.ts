// The page's service worker: keeps every file of one version, so that the page opens without a network and never mixes
// versions. The next version is fetched beside it, and takes over when no tab shows this one, or when the visitor says so.
import policy from "./worker-policy.txt?raw";

/** Files of this version, relative to this one; the build writes them here. */
const MANIFEST: { version: string; files: string[] } = JSON.parse("__MANIFEST__") as { version: string; files: string[] };
/** What a worker may do, by the header of its file: a host for files alone sends none. */
const POLICY = policy.trim();
const PREFIX = "aot-playground-";
const CACHE = `${PREFIX}${MANIFEST.version}`;
const worker = self as unknown as ServiceWorkerGlobalScope;

worker.addEventListener("install", (event) => event.waitUntil(keep()));

worker.addEventListener("activate", (event) =>
  event.waitUntil(
    (async () => {
      const old = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== CACHE);
      await Promise.all(old.map((name) => caches.delete(name)));
      await worker.clients.claim();
    })(),
  ),
);

worker.addEventListener("message", (event) => {
  if (event.data === "take over") void worker.skipWaiting();
});

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method === "GET" && new URL(request.url).origin === location.origin) event.respondWith(answer(request));
});

/** Fills the cache; what an earlier version has by the same name is the same, since names hold hashes. */
async function keep(): Promise<void> {
  const cache = await caches.open(CACHE);
  await Promise.all(
    MANIFEST.files.map(async (file) => {
      const hashed = file.startsWith("assets/");
      const known = hashed ? await caches.match(file) : undefined;
      const response = known ?? (await fetch(file, hashed ? {} : { cache: "no-cache" }));
      if (!response.ok) throw new Error(`${file}: ${response.status}`);
      await cache.put(file, file.endsWith(".js") ? withPolicy(response) : response);
    }),
  );
}

/** A script with the policy that a worker made of it has. */
function withPolicy(response: Response): Response {
  const headers = new Headers(response.headers);
  headers.set("Content-Security-Policy", POLICY);
  return new Response(response.body, { headers });
}

async function answer(request: Request): Promise<Response> {
  const cache = await caches.open(CACHE);
  const url = new URL(request.url);
  const scope = new URL(worker.registration.scope).pathname;
  const file = url.pathname.slice(scope.length) || "index.html";
  // Options of the address (`?embed`) are the page's own.
  return (await cache.match(file, { ignoreSearch: true })) ?? fetch(request);
}
