// Labels as they stand in the window: whole, inside it, and never over one another.
//
// The map behind them is only shifted while the reader moves; labels are put down anew with every
// frame, so that none is cut by the border. Written once, they are kept as small pictures.

import { MODES } from "./placing.js";
import { drawDot } from "./overlay.js";
import { Layer } from "./layer.js";
import { TEXT_FONT, WORD_FONT, regionFont, write } from "./writing.js";

/** Pixels between a label and the border, and those over which one fades whose place leaves. */
const EDGE = 4, FADE = 14;
/** Less of a label than this is not shown: it would look like a mistake where nobody moves. */
const LEAST = 0.4;
const HEIGHT = 18, MAX_KEPT = 1200;

/** Move a box inside the window; answers with its middle. */
export function inside({ width, height }, x, y, w, h) {
  const keep = (value, half, size) => Math.max(Math.min(value, size - half - EDGE), Math.min(half + EDGE, size / 2));
  return [keep(x, w / 2, width), keep(y, h / 2, height)];
}

export class Labels {
  constructor() {
    /** Texts as pictures, each written once. */
    this.kept = new Map();
    /** What was put down in this frame, as left, top, right, bottom and the item, -1 for a region. */
    this.boxes = [];
  }

  /** Texts, colours or the size of a pixel are others. */
  clear() {
    this.kept.forEach((made) => made.close());
    this.kept.clear();
  }

  /** The picture of some lines, each with its font, size and colour. */
  #written(key, lines, width, height, paper, halo) {
    const known = this.kept.get(key), { ratio } = this;
    if (known) return known;
    if (this.kept.size >= MAX_KEPT) this.clear();
    const w = Math.ceil((width + 2 * halo) * ratio), h = Math.ceil((height + 2 * halo) * ratio);
    const canvas = new OffscreenCanvas(Math.max(w, 1), Math.max(h, 1));
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, canvas.width / 2, canvas.height / 2);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    let y = -lines.reduce((sum, line) => sum + 0.65 * line.size, 0);
    for (const { text, font, size, colour } of lines) {
      pen.font = font;
      y += 0.65 * size;
      write(pen, text, 0, y, colour, paper, halo);
      y += 0.65 * size;
    }
    const made = canvas.transferToImageBitmap();
    this.kept.set(key, made);
    return made;
  }

  /** Put down what the layer shows in words, the names of regions first. */
  draw(pen, view, ratio, alpha) {
    if (this.ratio !== ratio) this.clear();
    this.ratio = ratio;
    // What lies on the map would cover a label: nothing is written there.
    this.boxes = view.panel.covered.map(([left, top, right, bottom]) => [left, top, right, bottom, -1]);
    this.controls = this.boxes.length;
    for (const [x, y, width, height] of view.taken.boxes) this.#take(x, y, width + 8, height + 8, -1);
    pen.setTransform(1, 0, 0, 1, 0, 0);
    for (const region of view.regions) this.#region(pen, view, region, alpha);
    for (const i of view.layer.worded) if (!view.taken.items.has(i)) this.#item(pen, view, i, alpha);
    pen.globalAlpha = 1;
  }

  /** The item whose label lies under a pixel; -1 if there is none. */
  at(px, py) {
    for (const [left, top, right, bottom, i] of this.boxes) {
      if (i >= 0 && px >= left && px <= right && py >= top && py <= bottom) return i;
    }
    return -1;
  }

  #region(pen, view, region, alpha) {
    const { camera, look, layer } = view;
    if (region.from > layer.level || region.to < layer.level) return;
    const x0 = camera.toScreenX(region.x), y0 = camera.toScreenY(region.y);
    const seen = fading(camera, x0, y0);
    if (!seen) return;
    let [x, y] = inside(camera, x0, y0, region.width, region.height);
    // Beside the controls rather than under them, if that is near.
    for (let k = 0; k < this.controls; k++) {
      const [left, top, right, bottom] = this.boxes[k];
      if (!overlaps(this.boxes[k], x, y, region.width, region.height)) continue;
      if (right > camera.width / 2 && bottom - top > right - left) x = left - region.width / 2 - EDGE;
      else if (bottom - y < 2 * region.height) y = bottom + region.height / 2 + EDGE;
    }
    if (x < region.width / 2 || !this.#isFree(x, y, region.width, region.height)) return;
    this.#take(x, y, region.width, region.height, -1);
    const lines = region.lines.map((text, k) => ({ text, ...regionFont(region.tier, k), colour: k ? look.muted : look.ink }));
    const key = `r${look.name}${region.tier}${region.lines.join("\n")}`;
    const made = this.#written(key, lines, region.width, region.height, look.paper, 5);
    pen.globalAlpha = alpha * (x === x0 && y === y0 ? 1 : seen);
    this.#print(pen, made, x, y);
  }

  #item(pen, view, i, alpha) {
    const { camera, look, placing } = view;
    const x0 = camera.toScreenX(view.xs[i]), y0 = camera.toScreenY(view.ys[i]);
    const seen = fading(camera, x0, y0);
    if (!seen) return;
    const width = view.widthOf(i), isWord = placing.modes[i] === MODES.word;
    let x = x0, y = y0, isMoved = false, isFree = true;
    if (isWord) {
      [x, y] = inside(camera, x0, y0, width, HEIGHT - 4);
      isMoved = x !== x0 || y !== y0;
      isFree = this.#isFree(x, y, width, HEIGHT - 4);
    } else {
      const gap = Layer.dotRadius(view.xs.length, camera.zoom) + 4 + width / 2;
      [, y] = inside(camera, x0, y0, width, HEIGHT - 4);
      isFree = false;
      // The side that it was given; the other where the border would cut it there.
      for (const turn of [placing.turn[i], -placing.turn[i]]) {
        x = x0 + turn * gap;
        const isWhole = x - width / 2 >= 0 && x + width / 2 <= camera.width;
        if (isWhole && (isFree = this.#isFree(x, y, width, HEIGHT - 4))) break;
        isMoved = true;
      }
    }
    if (!isFree || (isMoved && this.#isOnPicture(view, x, y, width))) {
      // Its dot is not on the map behind, for the word stood in its place.
      pen.globalAlpha = alpha;
      if (isWord) this.#dot(pen, view, i, x0, y0);
      return;
    }
    this.#take(x, y, width, HEIGHT - 4, i);
    const colour = isWord ? view.colours[view.groups[i]] : look.soft;
    const line = { text: view.labels[i], font: isWord ? WORD_FONT : TEXT_FONT, size: 12.5, colour };
    const made = this.#written(`${i}${colour}`, [line], width, HEIGHT, look.paper, 3);
    pen.globalAlpha = alpha * (isMoved ? seen : 1);
    this.#print(pen, made, x, y);
  }

  #dot(pen, view, i, x, y) {
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    drawDot(pen, view, i, x, y, null, true);
    pen.setTransform(1, 0, 0, 1, 0, 0);
  }

  #print(pen, made, x, y) {
    pen.drawImage(made, Math.round(x * this.ratio - made.width / 2), Math.round(y * this.ratio - made.height / 2));
  }

  #isFree(x, y, width, height) {
    return !this.boxes.some((box) => overlaps(box, x, y, width, height));
  }

  /** Whether a label that was moved would lie on somebody else's picture. */
  #isOnPicture({ camera, placing, layer, xs, ys }, x, y, width) {
    const half = placing.pictureSize(camera.zoom) / 2;
    return layer.pictured.some((i) =>
      Math.abs(camera.toScreenX(xs[i]) - x) < half + width / 2 && Math.abs(camera.toScreenY(ys[i]) - y) < half + 7);
  }

  #take(x, y, width, height, i) {
    this.boxes.push([x - width / 2, y - height / 2, x + width / 2, y + height / 2, i]);
  }
}

function overlaps([left, top, right, bottom], x, y, width, height) {
  return x - width / 2 < right && x + width / 2 > left && y - height / 2 < bottom && y + height / 2 > top;
}

/** How much is left of a label whose place is about to leave the window: 0 where it has left. */
function fading({ width, height }, x, y) {
  const left = Math.min(1, Math.min(x, y, width - x, height - y) / FADE);
  return left < LEAST ? 0 : left;
}
