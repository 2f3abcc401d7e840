// Files of zip archives, as wheels are: stored or deflated, within bounds whatever the archive says of itself.

export interface Zipped {
  name: string;
  /** Its bytes; a sentence where they cannot be read or there are too many. */
  read(most: number): Promise<Uint8Array<ArrayBuffer>>;
}

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
/** The end of an archive with the longest comment there can be. */
const LONGEST_END = 22 + 0xffff;

export class ZipError extends Error {}

/** The files of an archive, by its own list. */
export async function zipped(archive: Blob): Promise<Zipped[]> {
  const damaged = new ZipError("the archive is damaged");
  const tailAt = Math.max(0, archive.size - LONGEST_END);
  const tail = new DataView(await archive.slice(tailAt).arrayBuffer());
  let end = tail.byteLength - 22;
  while (end >= 0 && tail.getUint32(end, true) !== END) end -= 1;
  if (end < 0) throw damaged;
  const count = tail.getUint16(end + 10, true);
  const listSize = tail.getUint32(end + 12, true);
  const listAt = tail.getUint32(end + 16, true);
  if (listAt + listSize > archive.size) throw damaged;
  const list = new DataView(await archive.slice(listAt, listAt + listSize).arrayBuffer());
  const found: Zipped[] = [];
  for (let at = 0, n = 0; n < count; n += 1) {
    if (at + 46 > list.byteLength || list.getUint32(at, true) !== ENTRY) throw damaged;
    const flags = list.getUint16(at + 8, true);
    const method = list.getUint16(at + 10, true);
    const packed = list.getUint32(at + 20, true);
    const [nameSize, extraSize, commentSize] = [28, 30, 32].map((offset) => list.getUint16(at + offset, true)) as [number, number, number];
    const localAt = list.getUint32(at + 42, true);
    if (at + 46 + nameSize > list.byteLength) throw damaged;
    const name = new TextDecoder().decode(new Uint8Array(list.buffer, at + 46, nameSize));
    at += 46 + nameSize + extraSize + commentSize;
    if (name.endsWith("/")) continue;
    found.push({ name, read: (most) => entry(archive, { name, flags, method, packed, localAt }, most) });
  }
  return found;
}

async function entry(archive: Blob, { name, flags, method, packed, localAt }: { name: string; flags: number; method: number; packed: number; localAt: number }, most: number): Promise<Uint8Array<ArrayBuffer>> {
  if (flags & 1) throw new ZipError(`${name} is encrypted`);
  const local = new DataView(await archive.slice(localAt, localAt + 30).arrayBuffer());
  if (local.byteLength < 30 || local.getUint32(0, true) !== LOCAL) throw new ZipError("the archive is damaged");
  const from = localAt + 30 + local.getUint16(26, true) + local.getUint16(28, true);
  const bytes = archive.slice(from, from + packed);
  const tooLarge = new ZipError(`${name} is too large`);
  if (method === 0) {
    if (packed > most) throw tooLarge;
    return new Uint8Array(await bytes.arrayBuffer());
  }
  if (method !== 8) throw new ZipError(`${name} is compressed in a way that this page does not read`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = bytes.stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new ZipError(`${name} cannot be unpacked`);
    });
    if (done) break;
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw tooLarge;
    }
    chunks.push(value);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
