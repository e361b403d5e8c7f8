// Bytes and base64 from the server as typed arrays.

/** A part: four bytes of length, a JSON header of that length, then its arrays. */
export function readPart(bytes) {
  const start = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + start)));
  const arrays = {};
  for (const [name, [type, at, length]] of Object.entries(header.arrays)) {
    const from = 4 + start + at;
    // A copy starts where its element size asks for.
    const own = bytes.slice(from, from + length).buffer;
    arrays[name] = new TYPES[type](own);
  }
  return { header, arrays };
}

const TYPES = { f4: Float32Array, u4: Uint32Array, u1: Uint8Array };

/** Bytes out of base64. */
export function fromBase64(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/** Base64 of one bit a row: eight rows a byte, the first in the lowest bit. */
export function bitsToBase64(rows, n) {
  const bytes = new Uint8Array(Math.ceil(n / 8));
  for (const row of rows) bytes[row >> 3] |= 1 << (row & 7);
  let raw = "";
  for (const byte of bytes) raw += String.fromCharCode(byte);
  return btoa(raw);
}

/** The colour "#rrggbb" as a number of the pixels of a canvas (little endian, opaque). */
export function pixelOf(colour) {
  const value = parseInt(colour.slice(1), 16);
  const r = value >> 16, g = (value >> 8) & 255, b = value & 255;
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** A colour mixed with another; `share` of the first. */
export function mixed(first, second, share) {
  let told = "#";
  for (const at of [1, 3, 5]) {
    const a = parseInt(first.slice(at, at + 2), 16), b = parseInt(second.slice(at, at + 2), 16);
    told += Math.round(share * a + (1 - share) * b).toString(16).padStart(2, "0");
  }
  return told;
}
