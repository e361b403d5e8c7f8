// Words and pictures find room: what is shown stays shown from near, whole, and over nothing else.

import assert from "node:assert/strict";
import { test } from "node:test";

import { load, sampler } from "./sampling.mjs";

const { Camera } = await load("camera.js");
const { Grid } = await load("grid.js");
const { Labels, inside } = await load("labels.js");
const { FONT_SIZE, MODES, Placing } = await load("placing.js");

const PEN = new Proxy({}, { get: (pen, name) => pen[name] ?? (() => {}), set: (pen, name, value) => ((pen[name] = value), true) });
globalThis.OffscreenCanvas = class {
  constructor(width, height) {
    Object.assign(this, { width, height });
  }
  getContext() {
    return PEN;
  }
  transferToImageBitmap() {
    return { width: this.width, height: this.height, close() {} };
  }
};

/** A map in words, in texts beside dots, or in pictures, with two names of regions. */
function map(seed, mode, { n = 120, width = 900, height = 600 } = {}) {
  const random = sampler(seed), camera = new Camera();
  Object.assign(camera, { width, height });
  const xs = random.places(n), ys = random.places(n), grid = new Grid(xs, ys);
  camera.frame(grid);
  camera.take([0, 0, 1]);
  const modes = Uint8Array.from({ length: n }, (_, i) => (mode === "mixed" ? i % 4 : MODES[mode]));
  const widths = xs.map(() => random.between(12, 140));
  const regions = [0, 1].map((k) => (
    { tier: k, from: 0, to: 24, x: xs[k], y: ys[k], width: 130, height: 24, lines: [`region ${k}`] }));
  const isHidden = (i) => i % 9 === 8;
  const placing = new Placing({
    xs, ys, modes, order: xs.keys().toArray(), fit: camera.fit, area: width * height, widthOf: (i) => widths[i],
    isHidden, regions, grid,
  });
  return { camera, random, xs, ys, n, modes, widths, regions, grid, isHidden, placing, width, height };
}

/** What a window of that map says in words: the boxes as they were put down. */
function drawn({ camera, xs, ys, n, widths, regions, isHidden, placing }, covered = []) {
  const level = placing.level(camera.zoom), shown = [];
  placing.prepare(level);
  for (let i = 0; i < n; i++) if (placing.isShown(i, level) && !isHidden(i)) shown.push(i);
  const isWritten = (i) => placing.modes[i] <= MODES.text;
  const labels = new Labels();
  labels.draw(PEN, {
    camera, xs, ys, placing, regions, panel: { covered }, taken: { boxes: [], items: new Set() }, split: n / 2,
    layer: { level, worded: shown.filter(isWritten), pictured: shown.filter((i) => placing.modes[i] === MODES.picture) },
    look: { name: "light", soft: "#333333", ink: "#000000", muted: "#777777", paper: "#ffffff" },
    colours: ["#112233"], dotColours: ["#112233"], groups: new Uint8Array(n), labels: Array(n).fill("word"), widthOf: (i) => widths[i],
  }, 1, 1);
  return { labels, found: labels.boxes.slice(labels.controls) };
}

const overlaps = ([a, b, c, d], [left, top, right, bottom]) => a < right && c > left && b < bottom && d > top;

test("no label is cut or covers another", () => {
  for (const mode of ["word", "text", "mixed"]) {
    let n_seen = 0;
    for (let seed = 0; seed < 40; seed++) {
      const size = seed % 2 ? { width: 400, height: 520 } : {}, one = map(seed, mode, size), { camera, random } = one;
      for (const zoom of [1, 2.2, 6]) {
        camera.take([0, 0, 1]);
        camera.zoomBy(zoom, random.between(0, one.width), random.between(0, one.height));
        const covered = [[0, 0, 264, 38], [one.width - 36, 4, one.width - 2, 210]], { labels, found } = drawn(one, covered);
        for (const [k, box] of found.entries()) {
          const [left, top, right, bottom, i] = box;
          assert.ok(left >= -0.5 && top >= -0.5 && right <= one.width + 0.5 && bottom <= one.height + 0.5, String(box));
          for (const other of [...covered, ...found.slice(0, k)]) assert.ok(!overlaps(box, other), `${box} and ${other}`);
          assert.ok(i < 0 || !one.isHidden(i));
          assert.equal(labels.at((left + right) / 2, (top + bottom) / 2), i);
        }
        assert.equal(labels.at(-5, -5), -1);
        n_seen += found.length;
      }
    }
    assert.ok(n_seen > 500, String(n_seen));
  }
});

test("a label at the border moves into the window, and goes with its place", () => {
  const one = map(1, "word", { n: 1 }), { camera } = one;
  one.regions.length = 0;
  const half = one.widths[0] / 2;
  const boxAt = (px) => {
    camera.take([0, 0, 4]);
    camera.x = one.xs[0] - (px - camera.width / 2) / camera.scale;
    return drawn(one).found[0];
  };
  const [left, , right] = boxAt(450);
  assert.ok(Math.abs((left + right) / 2 - 450) < 1e-3, "in the middle it stands on its place");
  for (const px of [20, 10]) assert.ok(Math.abs(boxAt(px)[0] - 4) < 1e-3, "four pixels from the border");
  assert.ok(Math.abs(boxAt(890)[2] - (900 - 4)) < 1e-3);
  assert.equal(boxAt(2), undefined, "what is nearly out of the window has no label");
  assert.deepEqual(inside({ width: 100, height: 50 }, 1, 49, 2 * half, 20), [Math.min(half + 4, 50), 36]);
});

test("what is shown is shown from nearer too, and takes room from nobody", () => {
  for (const mode of ["word", "text", "mixed"]) {
    for (let seed = 0; seed < 4; seed++) {
      const { placing, isHidden, xs, ys, n, modes, widths, camera } = map(seed, mode);
      let before = [];
      for (let level = 0; level < 9; level++) {
        placing.prepare(level);
        const shown = [...Array(n).keys()].filter((i) => placing.isShown(i, level));
        assert.ok(before.every((i) => shown.includes(i)), "nothing flickers");
        assert.ok(shown.every((i) => !isHidden(i) && modes[i] !== MODES.dot));
        before = shown;
        const scale = camera.fit * 2 ** (level / 2);
        const words = shown.filter((i) => modes[i] === MODES.word);
        for (const [k, i] of words.entries()) {
          for (const j of words.slice(0, k)) {
            const isApart = Math.abs(xs[i] - xs[j]) * scale >= (widths[i] + widths[j]) / 2 ||
              Math.abs(ys[i] - ys[j]) * scale >= FONT_SIZE;
            assert.ok(isApart, `${i} on ${j} at ${level}`);
          }
        }
      }
      assert.ok(before.length > n / 3, String(before.length));
    }
  }
});

test("few pictures are all shown, and of many those that find room", () => {
  const few = map(2, "picture", { n: 300 }).placing;
  few.prepare(0);
  const shown = (placing, n) => [...Array(n).keys()].filter((i) => placing.isShown(i, 0)).length;
  assert.equal(shown(few, 300), 300 - Math.floor(300 / 9));
  const many = map(2, "picture", { n: 1500 }).placing;
  many.prepare(0);
  assert.ok(shown(many, 1500) > 50 && shown(many, 1500) < 1000, String(shown(many, 1500)));
  assert.ok(many.pictureSize(4) > many.pictureSize(1) && many.pictureSize(1e9) === 96);
});
