// Custom sections of WebAssembly modules: https://webassembly.github.io/spec/core/binary/modules.html

const HEADER = 8;

/** A module without its custom sections of a name, and what they held. */
export function withoutSection(bytes, name) {
  const kept = [bytes.subarray(0, HEADER)];
  const taken = [];
  for (let at = HEADER; at < bytes.length; ) {
    const [length, start] = integer(bytes, at + 1);
    const end = start + length;
    const [size, text] = bytes[at] === 0 ? integer(bytes, start) : [0, start];
    const found = bytes[at] === 0 && bytes.subarray(text, text + size).toString() === name;
    if (found) taken.push(bytes.subarray(text + size, end));
    else kept.push(bytes.subarray(at, end));
    at = end;
  }
  return { module: Buffer.concat(kept), content: Buffer.concat(taken) };
}

/** An unsigned LEB128 integer and where it ends. */
function integer(bytes, at) {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++];
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return [value, at];
  }
}
