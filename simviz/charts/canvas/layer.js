// The map as a picture somewhat larger than the window: while the reader moves, it is only shifted.

import { MODES } from "./placing.js";
import { makeStamps, press } from "./stamps.js";

/** How far the picture reaches beyond each border, in windows. */
const MARGIN = 0.25;
/** A picture that takes longer is not drawn anew while a zoom goes on. */
const QUICK = 14;

export class Layer {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.pen = this.canvas.getContext("2d");
    this.cost = 0;
    this.isStale = true;
    this.stamps = null;
    this.radius = 0;
    /** Items that are shown in words and as pictures, the most important first. */
    this.worded = [];
    this.pictured = [];
    this.level = 0;
  }

  /** Whether the picture must be drawn before the window can be filled from it. */
  isNeeded(camera, ratio, isMoving) {
    if (this.ratio !== ratio || this.width !== camera.width || this.height !== camera.height) return true;
    const isZoomed = Math.abs(this.scale / camera.scale - 1) > 1e-9;
    if (isMoving && (isZoomed || this.isStale) && this.cost > QUICK) {
      return this.scale / camera.scale > 2.5 || this.scale / camera.scale < 0.4;
    }
    if (this.isStale || isZoomed) return true;
    return (
      Math.abs(camera.x - this.x) * camera.scale > MARGIN * camera.width ||
      Math.abs(camera.y - this.y) * camera.scale > MARGIN * camera.height
    );
  }

  /** Draw everything that is not under the reader's hand. */
  render(view, ratio) {
    const began = performance.now();
    const { camera } = view;
    Object.assign(this, {
      ratio, width: camera.width, height: camera.height, x: camera.x, y: camera.y,
      scale: camera.scale, isStale: false,
    });
    const width = Math.ceil(camera.width * (1 + 2 * MARGIN) * ratio);
    const height = Math.ceil(camera.height * (1 + 2 * MARGIN) * ratio);
    const { canvas, pen } = this;
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
      this.image = pen.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.offsetX = camera.width * MARGIN;
    this.offsetY = camera.height * MARGIN;
    const level = view.placing.level(camera.zoom);
    view.placing.prepare(level);
    this.#dots(view, level, ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (view.halos) this.#halos(view);
    this.#list(view, level);
    this.#pictures(view);
    if (!view.glide) view.density.draw(pen, this, view);
    this.cost = performance.now() - began;
  }

  toX(x) {
    return (x - this.x) * this.scale + this.width / 2 + this.offsetX;
  }

  toY(y) {
    return (this.y - y) * this.scale + this.height / 2 + this.offsetY;
  }

  /** Radius of a dot in pixels: smaller where there are many, larger from near. */
  static dotRadius(n, zoom) {
    return Math.min(5.5, (6.4 / Math.pow(Math.max(n, 30), 0.14)) * Math.pow(Math.max(zoom, 1), 0.2));
  }

  #dots(view, level, ratio) {
    const { pixels, canvas } = this;
    const { xs, ys, order, placing, pixelColours, groups, split } = view;
    pixels.fill(0);
    const radius = Layer.dotRadius(xs.length, view.camera.zoom) * ratio;
    if (Math.abs(radius - this.radius) > 0.05) {
      this.radius = radius;
      this.stamps = makeStamps(radius);
      this.rims = makeStamps(radius + 0.8 * ratio);
    }
    const w = canvas.width, h = canvas.height, scale = this.scale * ratio;
    const midX = (this.width / 2 + this.offsetX) * ratio, midY = (this.height / 2 + this.offsetY) * ratio;
    // A rim in the colour of the page keeps neighbours apart, where they are few enough to be told apart.
    const hasRims = xs.length <= 8000;
    const hasFaint = view.fails !== null || view.enclosed !== null;
    // What stands back lies below all else.
    for (const isBack of hasFaint ? [true, false] : [false]) {
      const colours = isBack ? view.faintColours : pixelColours;
      for (let j = order.length - 1; j >= 0; j--) {
        const i = order[j];
        const x = ((xs[i] - this.x) * scale + midX) | 0, y = ((this.y - ys[i]) * scale + midY) | 0;
        if (x < -8 || y < -8 || x > w + 8 || y > h + 8 || view.isGone(i)) continue;
        if (hasFaint && view.isFaint(i) !== isBack) continue;
        if (!isBack && placing.isShown(i, level)) {
          const mode = placing.modes[i];
          if (mode === MODES.word || (mode === MODES.picture && view.pictures.has(i))) continue;
        }
        const shape = i < split ? 0 : 1;
        if (hasRims && !isBack) press(pixels, w, h, this.rims[shape], x, y, view.paperPixel);
        press(pixels, w, h, this.stamps[shape], x, y, colours[groups[i]]);
      }
    }
    this.pen.setTransform(1, 0, 0, 1, 0, 0);
    this.pen.putImageData(this.image, 0, 0);
  }

  /** How far single items can be trusted, behind everything; those of one strength flow together. */
  #halos(view) {
    const { pen } = this;
    const { halos, look } = view;
    const reach = Layer.dotRadius(view.xs.length, view.camera.zoom) +
      Math.min(9, 3 + 2.5 * Math.log2(Math.max(view.camera.zoom, 1)));
    pen.save();
    pen.globalCompositeOperation = "destination-over";
    for (const strength of [3, 2, 1]) {
      pen.globalAlpha = 0.2 + 0.22 * strength;
      pen.strokeStyle = look.missing;
      pen.lineWidth = 0.5 + 0.45 * strength;
      this.#circles(view, halos.missing, strength, reach + 1.5);
      pen.stroke();
    }
    for (const strength of [3, 2, 1]) {
      pen.globalAlpha = [0, 0.1, 0.2, 0.36][strength];
      pen.fillStyle = look.false;
      this.#circles(view, halos.false, strength, reach);
      pen.fill();
    }
    pen.restore();
  }

  /** One path around all items of one strength. */
  #circles(view, strengths, strength, reach) {
    const { pen } = this;
    pen.beginPath();
    for (let i = 0; i < strengths.length; i++) {
      if (strengths[i] !== strength || view.isHidden(i)) continue;
      const x = this.toX(view.xs[i]), y = this.toY(view.ys[i]);
      if (this.#isOutside(x, y)) continue;
      pen.moveTo(x + reach, y);
      pen.arc(x, y, reach, 0, 2 * Math.PI);
    }
  }

  #isOutside(x, y) {
    return x < -90 || y < -60 || x > this.canvas.width / this.ratio + 90 || y > this.canvas.height / this.ratio + 60;
  }

  #pictures(view) {
    const { pen } = this;
    const { xs, ys, placing, pictures, groups, colours } = view;
    const size = placing.pictureSize(view.camera.zoom);
    pen.imageSmoothingQuality = "medium";
    for (const i of [...this.pictured].reverse()) {
      pictures.draw(pen, i, this.toX(xs[i]) - size / 2, this.toY(ys[i]) - size / 2, size, colours[groups[i]]);
    }
  }

  /** What is written on the map is put down frame by frame, see `Labels`. */
  #list(view, level) {
    const { xs, ys, order, placing, pictures } = view;
    this.level = level;
    this.worded = [];
    this.pictured = [];
    for (const i of order) {
      if (!placing.isShown(i, level) || view.isHidden(i) || view.isFaint(i) || this.#isOutside(this.toX(xs[i]), this.toY(ys[i]))) continue;
      if (placing.modes[i] <= MODES.text) this.worded.push(i);
      else if (pictures.has(i)) this.pictured.push(i);
    }
  }
}
