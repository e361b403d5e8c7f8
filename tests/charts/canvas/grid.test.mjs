// Who is near a place, in a box or in an outline: the same as by looking at every item.

import assert from "node:assert/strict";
import { test } from "node:test";

import { load, sampler } from "./sampling.mjs";

const { Grid, isInside } = await load("grid.js");

/** Grids of many kinds: crowds, lines, copies, one item and none. */
function* grids() {
  for (let seed = 0; seed < 60; seed++) {
    const random = sampler(seed), n = [0, 1, 2, 17, 400][seed % 5];
    const xs = random.places(n), ys = seed % 4 === 3 ? new Float32Array(n) : random.places(n);
    if (seed % 7 === 6) xs.fill(xs[0] ?? 0, 0, n >> 1);
    yield { grid: new Grid(xs, ys), xs, ys, n, random };
  }
}

test("the nearest is the nearest of all", () => {
  let found = 0;
  for (const { grid, xs, ys, n, random } of grids()) {
    for (let k = 0; k < 40; k++) {
      const x = random.between(-5, 5), y = random.between(-5, 5), radius = random.between(0, 2);
      const accept = (i) => i % 3 !== k % 3;
      let closest = Infinity;
      for (let i = 0; i < n; i++) if (accept(i)) closest = Math.min(closest, Math.hypot(xs[i] - x, ys[i] - y));
      const best = grid.nearest(x, y, radius, accept);
      if (Math.abs(closest - radius) < 1e-9) continue;
      assert.equal(best >= 0, closest < radius);
      if (best < 0) continue;
      found++;
      assert.ok(accept(best));
      assert.ok(Math.abs(Math.hypot(xs[best] - x, ys[best] - y) - closest) < 1e-12);
    }
  }
  assert.ok(found > 200, String(found));
});

test("a box holds what lies in it, each once", () => {
  for (const { grid, xs, ys, n, random } of grids()) {
    for (let k = 0; k < 20; k++) {
      const x0 = random.between(-6, 4), y0 = random.between(-6, 4);
      const x1 = x0 + random.between(0, 6), y1 = y0 + random.between(0, 6), seen = [];
      grid.each(x0, y0, x1, y1, (i) => seen.push(i));
      const inside = [...Array(n).keys()].filter((i) => xs[i] >= x0 && xs[i] <= x1 && ys[i] >= y0 && ys[i] <= y1);
      assert.deepEqual(seen.sort((a, b) => a - b), inside);
    }
  }
});

test("the borders of a box belong to it", () => {
  const seen = [];
  new Grid(Float32Array.of(0, 1, 2), Float32Array.of(0, 1, 2)).each(0, 0, 1, 1, (i) => seen.push(i));
  assert.deepEqual(seen, [0, 1]);
});

test("an outline encloses what its corners go around", () => {
  const random = sampler(5);
  const star = [[0, 3], [2, -3], [-3, 1], [3, 1], [-2, -3]];
  assert.ok(!isInside(0, 0, star), "what is enclosed twice is outside");
  assert.ok(isInside(0, 2, star) && isInside(-1.9, 0.9, star));
  const bay = [[0, 0], [4, 0], [4, 4], [2, 1], [0, 4]];
  assert.ok(!isInside(2, 3, bay) && isInside(0.5, 2.5, bay) && isInside(2, 0.5, bay));
  for (let k = 0; k < 300; k++) {
    // An ellipse in 64 corners, in either direction: inside is told by its equation.
    const a = random.between(0.5, 4), b = random.between(0.5, 4), turn = k % 2 ? 1 : -1;
    const ring = Array.from({ length: 64 }, (_, i) => {
      const angle = (turn * i * Math.PI) / 32;
      return [a * Math.cos(angle), b * Math.sin(angle)];
    });
    const x = random.between(-5, 5), y = random.between(-5, 5), away = Math.hypot(x / a, y / b);
    if (away > 0.995 && away < 1.001) continue;
    assert.equal(isInside(x, y, ring), away < 1, `${x}, ${y}`);
  }
  assert.ok(!isInside(0, 0, []));
});
