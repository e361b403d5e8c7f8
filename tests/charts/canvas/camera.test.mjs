// Where the reader looks: one place in pixels and on the map, however they moved there.

import assert from "node:assert/strict";
import { test } from "node:test";

import { load, sampler } from "./sampling.mjs";

const { Camera } = await load("camera.js");
const { Grid } = await load("grid.js");

let wantsLessMotion = false;
globalThis.matchMedia = () => ({ matches: wantsLessMotion });

const close = (a, b, within, said) => assert.ok(Math.abs(a - b) <= within, `${said}: ${a} is not ${b}`);

/** A camera over some items in a window of some size. */
function camera(seed, { n = 200, width, height } = {}) {
  const random = sampler(seed), made = new Camera();
  made.width = width ?? Math.round(random.between(200, 1600));
  made.height = height ?? Math.round(random.between(200, 1000));
  made.frame(new Grid(random.places(n), random.places(n)));
  made.take([0, 0, 1]);
  return { made, random };
}

/** Some way of a reader over the map: each step at a pixel of the window. */
function wander({ made, random }, steps = 6) {
  for (let k = 0; k < steps; k++) {
    const px = random.between(0, made.width), py = random.between(0, made.height);
    if (k % 2) made.panBy(random.between(-90, 90), random.between(-90, 90));
    else made.zoomBy(random.between(0.6, 2.5), px, py);
  }
}

test("a place of the map and its pixel are told from one another", () => {
  for (let seed = 0; seed < 200; seed++) {
    const one = camera(seed), { made, random } = one;
    wander(one);
    const px = random.between(0, made.width), py = random.between(0, made.height);
    close(made.toScreenX(made.toMapX(px)), px, 1e-6, "across");
    close(made.toScreenY(made.toMapY(py)), py, 1e-6, "down");
    assert.ok(made.toMapX(px + 1) > made.toMapX(px), "right is more");
    assert.ok(made.toMapY(py + 1) < made.toMapY(py), "down is less");
    assert.ok(made.sees({ x: made.toMapX(px), y: made.toMapY(py) }));
    assert.ok(!made.sees({ x: made.toMapX(made.width + 1), y: made.y }));
    assert.ok(!made.sees({ x: made.x, y: made.toMapY(-1) }));
  }
});

test("a drag takes the map along, and never beyond its border", () => {
  const { made, random } = camera(1);
  made.zoomBy(8);
  for (let k = 0; k < 100; k++) {
    made.take([0, 0, 8]);
    const px = random.between(0, made.width), py = random.between(0, made.height);
    const x = made.toMapX(px), y = made.toMapY(py);
    const dx = random.between(-60, 60), dy = random.between(-60, 60);
    made.panBy(dx, dy);
    close(made.toScreenX(x), px + dx, 1e-6, "across");
    close(made.toScreenY(y), py + dy, 1e-6, "down");
  }
  const { x, y, halfX, halfY } = made.extent;
  made.panBy(-1e9, -1e9);
  assert.deepEqual([made.x, made.y], [x + halfX, y - halfY]);
  made.panBy(1e9, 1e9);
  assert.deepEqual([made.x, made.y], [x - halfX, y + halfY]);
});

test("a zoom keeps what is under the pointer, by its factor and within bounds", () => {
  for (let seed = 0; seed < 100; seed++) {
    const { made, random } = camera(seed);
    // From near the middle, so that no border of the map is met.
    made.zoomBy(4);
    const px = random.between(0.3, 0.7) * made.width, py = random.between(0.3, 0.7) * made.height;
    const x = made.toMapX(px), y = made.toMapY(py), { zoom } = made, factor = random.between(0.7, 3);
    made.zoomBy(factor, px, py);
    close(made.zoom, zoom * factor, 1e-9, "zoom");
    close(made.toScreenX(x), px, 1e-6, "across");
    close(made.toScreenY(y), py, 1e-6, "down");
  }
  const { made } = camera(1);
  made.zoomBy(1e9);
  assert.equal(made.zoom, 400);
  made.zoomBy(1e-9);
  assert.equal(made.zoom, 0.6);
});

test("the frame fills the window, and a few far away do not rule it", () => {
  const random = sampler(3), n = 300, xs = random.places(n), ys = random.places(n);
  const made = new Camera();
  Object.assign(made, { width: 900, height: 600 });
  xs[0] = 900;
  made.frame(new Grid(xs, ys));
  made.take([0, 0, 1]);
  const others = [...xs.keys()].slice(1);
  const across = others.map((i) => made.toScreenX(xs[i])), down = others.map((i) => made.toScreenY(ys[i]));
  assert.ok(Math.min(...across, ...down) >= 0 && Math.max(...across) <= 900 && Math.max(...down) <= 600);
  const { halfX, halfY } = made.bounds;
  close(Math.max((2 * halfX * made.scale) / 900, (2 * halfY * made.scale) / 600), 0.9, 1e-9, "filled");
  assert.ok(Math.max(...down) - Math.min(...down) > 0.7 * 600);
  assert.ok(made.toScreenX(900) > 2 * 900);
  assert.ok(made.extent.halfX > 400, "the map ends behind the farthest");
});

test("maps of no item, of one and of a line have a frame", () => {
  for (const xs of [[], [2], [1, 1, 1], [0, 5, 9]]) {
    const made = new Camera();
    made.frame(new Grid(Float32Array.from(xs), new Float32Array(xs.length)));
    made.take([0, 0, 1]);
    assert.ok([made.x, made.y, made.scale].every(Number.isFinite) && made.scale > 0, String(xs));
  }
});

test("a flight goes from where one is to where it ends, and no farther", () => {
  wantsLessMotion = false;
  const { made } = camera(4);
  const [x, y] = [made.x + 0.5, made.y - 0.25];
  made.flyTo(x, y, 6, 1000, 200);
  assert.deepEqual([made.step(1000), made.zoom], [true, 1]);
  let before = 1;
  for (let now = 1010; now < 1200; now += 10) {
    assert.ok(made.step(now));
    assert.ok(made.zoom > before && made.zoom < 6);
    before = made.zoom;
  }
  assert.ok(made.step(5000));
  close(made.zoom, 6, 1e-9, "zoom");
  assert.deepEqual([made.x, made.y, made.flight], [x, y, null]);
  assert.equal(made.step(5001), false);
  made.flyTo(x, y, 1e9, 0, 200);
  made.land();
  close(made.zoom, 400, 1e-6, "zoom");
  // Whoever takes the map in hand ends it.
  for (const act of [() => made.panBy(1, 1), () => made.zoomBy(1.1), () => made.take([0, 0, 2])]) {
    made.flyTo(x, y, 3, 0, 200);
    act();
    assert.equal(made.flight, null);
  }
});

test("readers who want less motion are there at once", () => {
  wantsLessMotion = true;
  const { made } = camera(4);
  made.flyTo(made.x + 0.1, made.y, 5, 0);
  assert.deepEqual([made.flight, made.zoom], [null, 5]);
  made.flyTo(1e9, 1e9, 5, 0);
  const { extent } = made;
  assert.deepEqual([made.x, made.y], [extent.x + extent.halfX, extent.y + extent.halfY]);
  made.flyHome(0);
  assert.deepEqual(made.told(), [0, 0, 1]);
});

test("a link says the place, in a window of any size", () => {
  for (let seed = 0; seed < 100; seed++) {
    const here = camera(seed, { width: 900, height: 700 }), there = camera(seed, { width: 900, height: 500 });
    wander(here);
    const { x, y, zoom, extent } = here.made, told = here.made.told();
    assert.ok(told.every((value) => Math.round(value * 1000) / 1000 === value), String(told));
    there.made.take(told);
    close(there.made.x, x, 0.000501 * extent.half, "across");
    close(there.made.y, y, 0.000501 * extent.half, "up");
    close(there.made.zoom, zoom, 0.000501, "zoom");
    here.made.take(here.made.place());
    close(here.made.x, x, 1e-9, "unrounded");
  }
  const { made } = camera(7);
  assert.deepEqual(made.place(), [0, 0, 1], "the first view goes unsaid");
  made.zoomBy(3, 10, 10);
  made.take([0, 0, 1]);
  assert.deepEqual([made.x, made.y, made.zoom], [made.bounds.x, made.bounds.y, 1]);
  made.take([9, -9, 1e9]);
  const { extent } = made;
  assert.deepEqual([made.x, made.y, made.zoom], [extent.x + extent.halfX, extent.y - extent.halfY, 400]);
});

test("an outline is told in few corners, and means the same place", () => {
  const { made, random } = camera(2), { extent } = made;
  const drawn = Array.from({ length: 500 }, () => [random.between(-4, 4), random.between(-4, 4)]);
  const told = made.toldCorners(drawn, 32);
  assert.equal(told.length, 32);
  for (const [px, py] of made.fromTold(told)) {
    const isNear = drawn.some(([x, y]) => Math.hypot(x - px, y - py) <= 0.0008 * extent.half);
    assert.ok(isNear, `no corner at ${px}, ${py}`);
  }
  assert.equal(made.toldCorners(drawn.slice(0, 5), 32).length, 5);
  assert.deepEqual(made.toldCorners([[1e30, -1e30]], 32), [[999, -999]]);
});
