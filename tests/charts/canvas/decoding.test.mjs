// Bytes, bits and colours as the server and the canvas write them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { load, sampler } from "./sampling.mjs";

const { bitsToBase64, fromBase64, mixed, pixelOf, readPart } = await load("decode.js");

test("a part is read wherever its bytes begin", () => {
  // Parts as the server packs them, and what is in them.
  const parts = JSON.parse(process.env.SIMVIZ_PARTS);
  assert.ok(parts.length > 1);
  for (const { base64, header, arrays } of parts) {
    for (const shift of [0, 1, 3]) {
      const bytes = fromBase64(base64), moved = new Uint8Array(bytes.length + shift);
      moved.set(bytes, shift);
      const part = readPart(moved.subarray(shift));
      for (const [name, value] of Object.entries(header)) assert.deepEqual(part.header[name], value);
      assert.deepEqual(Object.keys(part.arrays).sort(), Object.keys(arrays).sort());
      for (const [name, values] of Object.entries(arrays)) assert.deepEqual([...part.arrays[name]], values);
    }
  }
});

test("rows are one bit each, the first in the lowest", () => {
  assert.deepEqual([...fromBase64(bitsToBase64([0, 3, 8], 10))], [0b1001, 1]);
  const random = sampler(1), rows = new Set(Array.from({ length: 300 }, () => random.below(1000)));
  const bits = fromBase64(bitsToBase64(rows, 1000));
  assert.equal(bits.length, 125);
  for (let i = 0; i < 1000; i++) assert.equal(Boolean(bits[i >> 3] & (1 << (i & 7))), rows.has(i));
});

test("a colour is a pixel, and lies between two others", () => {
  assert.equal(pixelOf("#123456"), 0xff563412);
  assert.equal(mixed("#000000", "#ffffff", 0.25), "#bfbfbf");
  assert.equal(mixed("#0a0b0c", "#ffffff", 1), "#0a0b0c");
});
