// A link holds the program and the options that are not defaults, in the URL's fragment, which no server ever sees:
//
//     #v1/BASE64URL(DEFLATE(JSON))        JSON: {"p": program, "o": {option: value}}
//
// The version comes first so that links stay readable for ever: a later form gets a later number and its own reader.
import { type Options, readOptions, withoutDefaults } from "./options";

/** What a link brings back. */
export interface Shared {
  program: string;
  options: Options;
}

/** What was found in an address. */
export type Link =
  | { kind: "none" }
  | { kind: "shared"; shared: Shared; notes: string[] }
  /** `reason` is a sentence for the visitor. */
  | { kind: "broken"; reason: string };

/** A program larger than this is not unpacked: a few bytes can claim to be gigabytes. */
const LARGEST = 4 * 1024 * 1024;
const NEWEST = 1;

/** The fragment for `shared`, with its `#`. */
export async function encodeLink(shared: Shared): Promise<string> {
  const options = withoutDefaults(shared.options);
  const json = JSON.stringify({ p: shared.program, ...(Object.keys(options).length > 0 ? { o: options } : {}) });
  const packed = new Blob([json]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return `#v${NEWEST}/${toBase64Url(await readAll(packed, Infinity))}`;
}

/** Reads a fragment, with or without its `#`. */
export async function decodeLink(fragment: string): Promise<Link> {
  const text = fragment.replace(/^#/, "");
  if (text === "") return { kind: "none" };
  const match = /^v(\d+)\/(.*)$/s.exec(text);
  if (!match) return { kind: "broken", reason: "What follows the # in this address was not made by this page." };
  const version = Number(match[1]);
  if (version > NEWEST) {
    return { kind: "broken", reason: `This link was made by a newer version of the page (v${version}); this one reads up to v${NEWEST}.` };
  }
  if (version < 1) return { kind: "broken", reason: `There never was a link of version v${version}.` };
  return decodeV1(match[2] ?? "");
}

async function decodeV1(body: string): Promise<Link> {
  const damaged = (what: string): Link => ({ kind: "broken", reason: `This link is damaged (${what}); perhaps a part was lost when it was copied.` });
  const packed = fromBase64Url(body);
  if (!packed) return damaged("it holds characters that no link holds");
  let json: string;
  try {
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    json = new TextDecoder("utf-8", { fatal: true }).decode(await readAll(unpacked, LARGEST));
  } catch (error) {
    return error instanceof TooLarge ? { kind: "broken", reason: "This link holds more than this page accepts." } : damaged("it cannot be unpacked");
  }
  let content: unknown;
  try {
    content = JSON.parse(json);
  } catch {
    return damaged("its content cannot be read");
  }
  if (typeof content !== "object" || content === null || typeof (content as { p?: unknown }).p !== "string") {
    return damaged("it holds no program");
  }
  const { p, o } = content as { p: string; o?: unknown };
  const { options, notes } = readOptions(o);
  return { kind: "shared", shared: { program: p, options }, notes };
}

class TooLarge extends Error {}

async function readAll(stream: ReadableStream<Uint8Array>, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    size += value.length;
    if (size > limit) {
      await reader.cancel();
      throw new TooLarge();
    }
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

function toBase64Url(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined;
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
}
