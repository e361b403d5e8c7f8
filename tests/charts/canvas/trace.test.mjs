// What a map leaves behind of items that marks moved.

import assert from "node:assert/strict";
import { test } from "node:test";

import { load, sampler } from "./sampling.mjs";

const { Scene } = await load("scene.js");
const { drawOverlay } = await load("overlay.js");

let wantsLessMotion = false;
globalThis.matchMedia = () => ({ matches: wantsLessMotion });

const N = 400;
const before = sampler(1).places(2 * N).map((value, k) => (k < 4 ? 12 * (k < 2 ? 1 : -1) : value)); // two fixed corners
/** Places where every third item has moved, the later ones farther. */
const after = before.map((value, k) => ((k >> 1) % 3 === 2 ? value + (3 * k) / N : value));

/** A map whose places became others, and with them what the page says of the marks. */
function changed(old, now, { less = false, places = after } = {}) {
  wantsLessMotion = less;
  const made = new Scene(), order = Uint32Array.from({ length: N }, (_, i) => i);
  Object.assign(made.camera, { width: 900, height: 600 });
  made.data = { marks: old };
  made.takePlaces({ arrays: { order, places: before } }, true, undefined);
  const told = made.data;
  made.data = { marks: now };
  made.takePlaces({ arrays: { order, places } }, false, told);
  return made;
}

test("items that marks moved clearly are traced from where they were, the farthest of many", () => {
  for (const less of [false, true]) {
    const made = changed(["run"], ["run", ["a", "b", true]], { less }), { trace } = made;
    assert.equal(trace.length, 100);
    assert.equal(Boolean(made.glide), !less, "less motion is no less of a trace");
    const moved = Array.from({ length: N }, (_, i) => i).filter((i) => i % 3 === 2);
    assert.deepEqual(trace.map(([i]) => i), moved.slice(-100).reverse());
    for (const [i, x, y] of trace) {
      assert.ok(Math.hypot(x - before[2 * i], y - before[2 * i + 1]) < 1e-3, "where it was");
    }
  }
});

test("what has hardly moved leaves nothing", () => {
  const places = before.map((value, k) => value + (k >> 1 === 7 ? 2 : (k >> 1) % 3 === 2 ? 0.2 : 0));
  assert.deepEqual(changed(["run"], ["run", "mark"], { places }).trace.map(([i]) => i), [7]);
});

test("where most items moved, lines would tell nothing", () => {
  const places = before.map((value, k) => ((k >> 1) % 5 < 3 ? value + 5 : value));
  assert.deepEqual(changed(["run"], ["run", "mark"], { places }).trace, []);
});

test("a mark that is taken back leaves a trace, and other reasons of new places none", () => {
  assert.ok(changed(["run", "mark"], ["run"]).trace);
  assert.equal(changed(["run", "mark"], ["run", "mark"]).trace, null, "fewer dimensions");
  assert.equal(changed(["run", "mark"], ["other"]).trace, null, "another run");
  assert.equal(changed(undefined, undefined).trace, null, "a map without a server");
});

test("a line goes from where an item was to where it is, in its colour and below all else", () => {
  for (const less of [false, true]) {
    const made = changed(["run"], ["run", "mark"], { less }), { camera } = made, lines = [];
    const pen = {
      beginPath() {},
      moveTo: (...from) => lines.push({ from }),
      lineTo: (...to) => (lines.at(-1).to = to),
      stroke: () => Object.assign(lines.at(-1), { colour: pen.strokeStyle, how: pen.globalCompositeOperation }),
    };
    const isHidden = (i) => i === made.trace[0][0], groups = Uint8Array.from({ length: N }, (_, i) => i % 2);
    Object.assign(made, { isHidden, groups, colours: ["#111111", "#222222"], panel: { covered: [] }, focused: -1, hovered: -1 });
    drawOverlay(pen, made);
    assert.equal(lines.length, 99, "not of what is hidden");
    lines.forEach(({ from, to, colour, how }, k) => {
      const [i, x, y] = made.trace[k + 1];
      assert.deepEqual(from, [camera.toScreenX(x), camera.toScreenY(y)]);
      assert.deepEqual(to, [camera.toScreenX(made.xs[i]), camera.toScreenY(made.ys[i])]);
      assert.deepEqual([colour, how], [["#111111", "#222222"][i % 2], "destination-over"]);
    });
    assert.equal(pen.globalCompositeOperation, "source-over");
  }
});
