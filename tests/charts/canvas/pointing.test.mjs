// What a pointer is on, and what lies inside an outline.

import assert from "node:assert/strict";
import { test } from "node:test";

import { load, sampler } from "./sampling.mjs";

const { Filtering } = await load("filtering.js");
const { Grid, isInside } = await load("grid.js");
const { MODES, Placing } = await load("placing.js");

/** A map of some items that nobody draws; every seventh of them is not shown. */
function map(seed, mode, n = 150) {
  const random = sampler(seed), made = new Filtering(), { camera } = made;
  Object.assign(camera, { width: 900, height: 600 });
  const xs = random.places(n), ys = random.places(n), grid = new Grid(xs, ys);
  camera.frame(grid);
  camera.take([0, 0, 1]);
  camera.zoomBy([1, 3, 20][seed % 3], 400, 350);
  const isHidden = (i) => i % 7 === 6;
  const placing = new Placing({
    xs, ys, modes: new Uint8Array(n).fill(MODES[mode]), order: xs.keys().toArray(), fit: camera.fit, area: 900 * 600,
    widthOf: () => 60, isHidden, regions: [], grid,
  });
  placing.prepare(placing.level(camera.zoom));
  const boxes = [];
  Object.assign(made, { xs, ys, grid, placing, isHidden, boxes, labels: Array(n).fill("word"), layer: {} });
  made.lettered = { at: (px, py) => boxes.find(([l, t, r, b]) => px >= l && px <= r && py >= t && py <= b)?.[4] ?? -1 };
  const apart = (i, px, py) => [Math.abs(camera.toScreenX(xs[i]) - px), Math.abs(camera.toScreenY(ys[i]) - py)];
  return { made, camera, random, n, apart, isHidden };
}

/** The item nearest to a pixel by looking at all, and how far it is. */
function nearest({ n, apart, isHidden }, px, py) {
  let best = -1, closest = Infinity;
  for (let i = 0; i < n; i++) {
    const away = Math.hypot(...apart(i, px, py));
    if (!isHidden(i) && away < closest) [best, closest] = [i, away];
  }
  return [best, closest];
}

test("a pointer is on the nearest dot within sixteen pixels", () => {
  let hits = 0, misses = 0;
  for (let seed = 0; seed < 30; seed++) {
    const one = map(seed, "dot"), { made, random, apart } = one;
    for (let k = 0; k < 60; k++) {
      const px = random.between(0, 900), py = random.between(0, 600), [, closest] = nearest(one, px, py);
      const found = made.itemAt(px, py);
      if (Math.abs(closest - 16) < 0.01) continue;
      if (closest > 16) {
        assert.equal(found, -1, `${closest} pixels away`);
        misses++;
      } else {
        assert.ok(Math.abs(Math.hypot(...apart(found, px, py)) - closest) < 1e-3);
        assert.ok(!one.isHidden(found));
        hits++;
      }
    }
  }
  assert.ok(hits > 100 && misses > 100, `${hits}, ${misses}`);
});

test("a pointer is on the picture that is shown under it", () => {
  let hits = 0;
  for (let seed = 0; seed < 30; seed++) {
    const one = map(seed, "picture", 40), { made, camera, random, apart, isHidden, n } = one;
    const level = made.placing.level(camera.zoom), reach = made.placing.pictureSize(camera.zoom) / 2;
    for (let k = 0; k < 60; k++) {
      const px = random.between(0, 900), py = random.between(0, 600), [near, closest] = nearest(one, px, py);
      let best = -1, least = Infinity;
      for (let i = 0; i < n; i++) {
        const [across, down] = apart(i, px, py), away = Math.hypot(across, down);
        if (isHidden(i) || !made.placing.isShown(i, level) || Math.max(across, down) > reach) continue;
        if (away < least) [best, least] = [i, away];
      }
      const found = made.itemAt(px, py), wanted = closest < 5 ? near : best >= 0 ? best : closest <= 16 ? near : -1;
      assert.equal(found, wanted);
      hits += best >= 0;
    }
  }
  assert.ok(hits > 50, String(hits));
});

test("a label is its item, unless the pointer is right on a dot", () => {
  const { made, camera } = map(0, "dot", 30), px = camera.toScreenX(made.xs[3]), py = camera.toScreenY(made.ys[3]);
  made.boxes.push([px - 20, py - 20, px + 80, py + 20, 12]);
  assert.equal(made.itemAt(px, py), 3);
  assert.equal(made.itemAt(px + 79, py + 19), 12);
  made.isHidden = (i) => i === 12 || i === 3;
  assert.notEqual(made.itemAt(px + 79, py + 19), 12);
});

test("an outline encloses the items that are shown in it", () => {
  let n_enclosed = 0;
  for (let seed = 0; seed < 40; seed++) {
    const { made, random, n, isHidden } = map(seed, "dot");
    const outline = Array.from({ length: 3 + (seed % 9) }, () => [random.between(-4, 4), random.between(-4, 4)]);
    const wanted = [...Array(n).keys()].filter((i) => !isHidden(i) && isInside(made.xs[i], made.ys[i], outline));
    assert.deepEqual(made.encloseBy(outline).sort((a, b) => a - b), wanted);
    for (let i = 0; i < n; i++) assert.equal(made.isFaint(i), wanted.length > 0 && !wanted.includes(i));
    assert.equal(made.region, wanted.length ? outline : null);
    n_enclosed += wanted.length;
  }
  assert.ok(n_enclosed > 300, String(n_enclosed));
  const { made } = map(0, "dot");
  assert.deepEqual(made.encloseBy(null), []);
  assert.ok(!made.isFaint(0));
});
