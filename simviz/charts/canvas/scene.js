// What a map shows, as the server told it: items, places, colours, regions.

import { Camera } from "./camera.js";
import { fromBase64, mixed, pixelOf } from "./decode.js";
import { Density } from "./density.js";
import { paint } from "./dom.js";
import { Grid } from "./grid.js";
import { MODES, Placing } from "./placing.js";
import { Pictures } from "./pictures.js";
import { isByMarks, traced } from "./trace.js";
import { TEXT_FONT, WORD_FONT, measureRegion } from "./writing.js";

const NOTHING = new Float32Array(0);
/** How near to a dot is on it, in pixels. */
const REACH = 16;
/** Where the name of a region may stand, in its own widths and heights from the middle. */
const MOVES = [0, -1.1, 1.1, -2, 2].flatMap((down) => [0, -0.35, 0.35].map((across) => [across, down]));

export class Scene {
  constructor() {
    this.camera = new Camera();
    this.closed = new Set();
    this.xs = this.ys = NOTHING;
    this.halos = this.data = this.glide = this.trace = null;
    /** What is put off for a while, by its name. */
    this.timers = new Map();
  }

  /** Do something after so many milliseconds without being told again. */
  later(name, milliseconds, act) {
    this.cancel(name);
    const timer = setTimeout(() => {
      this.timers.delete(name);
      act();
    }, milliseconds);
    this.timers.set(name, timer);
  }

  /** Do it no more. */
  cancel(name) {
    clearTimeout(this.timers.get(name));
    this.timers.delete(name);
  }

  takeItems(items) {
    this.items = items;
    const { header } = items;
    this.split = header.n_x;
    this.names = header.names;
    this.labels = header.labels;
    this.modes = new Uint8Array(header.labels.length);
    header.modes.forEach((mode, side) => {
      const from = side ? this.split : 0, to = side ? this.modes.length : this.split;
      this.modes.fill(MODES[mode], from, to);
    });
    header.glyphs?.labels.forEach((glyph, k) => {
      if (!glyph) this.modes[header.glyphs.first + k] = MODES.text;
    });
    this.widths = new Float32Array(header.labels.length);
    this.lettered.clear();
    this.folded = null;
    this.finder?.close();
    this.finder = null;
    this.closed.clear();
    this.letGo(true);
    this.pictures = new Pictures(items, () => {
      this.layer.isStale = true;
      this.lists.forEach((list) => list.refresh());
      this.draw();
    });
    if (this.look) this.pictures.setInk(this.look.ink);
  }

  takeLook(look) {
    this.look = look;
    this.paperPixel = pixelOf(look.paper);
    this.lettered.clear();
    this.pictures.setInk(look.ink);
    paint(this.panel.box, look);
  }

  takeColours({ colours, groups }, isNew) {
    this.colours = colours;
    // Words and pictures speak for their dots, which stand back; where colours tell more, they do not.
    const share = groups || this.items.header.modes.every((mode) => mode === "dot") ? 0.9 : 0.6;
    this.dotColours = colours.map((colour) => mixed(colour, this.look.paper, share));
    this.pixelColours = this.dotColours.map(pixelOf);
    this.faintColours = colours.map((colour) => pixelOf(mixed(colour, this.look.paper, this.look.dim)));
    if (groups) this.groups = fromBase64(groups);
    else if (isNew || this.groupsTold) {
      this.groups = new Uint8Array(this.labels.length).fill(1, this.split);
    }
    if (this.groupsTold !== groups) this.closed.clear();
    this.groupsTold = groups;
  }

  takePlaces(told, isNew, before) {
    this.places = told;
    this.order = told.arrays.order;
    const { places } = told.arrays;
    const n = places.length / 2;
    const xs = new Float32Array(n), ys = new Float32Array(n);
    for (let i = 0; i < n; i++) {
      xs[i] = places[2 * i];
      ys[i] = places[2 * i + 1];
    }
    const isSeen = this.grid && !isNew, isSame = isSeen && this.xs.length === n;
    const isGliding = isSame && !this.halos && !matchMedia("(prefers-reduced-motion: reduce)").matches;
    const { camera, grid } = this;
    const seenX = this.xs.map((x) => camera.toScreenX(x)), seenY = this.ys.map((y) => camera.toScreenY(y));
    this.grid = new Grid(xs, ys);
    camera.land();
    const place = isSeen ? camera.place() : [0, 0, 1];
    camera.frame(this.grid);
    camera.take(place);
    // From where each item stands on the screen: the eye can follow it.
    const fromX = seenX.map((px) => camera.toMapX(px)), fromY = seenY.map((py) => camera.toMapY(py));
    this.glide = isGliding ? { start: performance.now(), xs, ys, fromX, fromY } : null;
    // From where it was on the map: its frame may be another.
    this.trace = isSame && isByMarks(before, this.data) ? traced(grid, this.grid) : null;
    this.xs = isGliding ? fromX.slice() : xs;
    this.ys = isGliding ? fromY.slice() : ys;
  }

  takeRegions(told) {
    this.named = (told ?? []).map(([tier, from, to, x, y, lines]) => ({ tier, from, to, middle: [x, y], lines }));
    for (const region of this.named) Object.assign(region, measureRegion(this.pen, region));
  }

  /**
   * Labels of one tier do not cover one another: the weightier come first. Each gives way to the
   * points: it moves within its own size to where it covers the fewest.
   */
  thinRegions() {
    this.regions = [];
    for (const { middle, ...region } of this.named) {
      const scale = this.camera.fit * Math.pow(2, region.from / 2);
      const { width, height, tier } = region;
      let least = Infinity;
      for (const [across, down] of MOVES) {
        const x = middle[0] + (across * width) / scale, y = middle[1] - (down * height) / scale;
        const isFree = this.regions.every((other) =>
          other.tier !== tier ||
          Math.abs(other.x - x) * scale > (other.width + width) / 2 + 16 ||
          Math.abs(other.y - y) * scale > (other.height + height) / 2 + 10);
        if (!isFree) continue;
        let covered = Math.abs(across) + Math.abs(down);
        const halfX = width / 2 / scale, halfY = height / 2 / scale;
        this.grid.each(x - halfX, y - halfY, x + halfX, y + halfY, (i) => (covered += this.isHidden(i) ? 0 : 1));
        if (covered >= least) continue;
        least = covered;
        Object.assign(region, { x, y });
      }
      if (least < Infinity) this.regions.push(region);
    }
  }

  /** Room for labels is given anew. */
  replace() {
    this.thinRegions();
    const { xs, ys } = this.glide ?? this;
    this.placing = new Placing({
      xs, ys, modes: this.modes, order: this.order, fit: this.camera.fit,
      area: this.camera.width * this.camera.height, widthOf: (i) => this.widthOf(i),
      isHidden: (i) => this.isHidden(i), regions: this.regions, grid: this.grid,
    });
    this.density = new Density(this.grid, (i) => this.isHidden(i));
    this.placedFor = [this.camera.width, this.camera.height];
  }

  widthOf(i) {
    if (!this.widths[i]) {
      this.pen.font = this.modes[i] === MODES.word ? WORD_FONT : TEXT_FONT;
      this.widths[i] = this.pen.measureText(this.labels[i]).width + 1;
    }
    return this.widths[i];
  }

  // What is known of items

  sideOf(i) {
    return i < this.split ? 0 : 1;
  }

  isHidden(i) {
    if (this.hiddenBits && this.hiddenBits[i >> 3] & (1 << (i & 7))) return true;
    return this.closed.size > 0 && (this.closed.has(`s${this.sideOf(i)}`) || this.closed.has(`g${this.groups[i]}`));
  }

  textOf(i, limit) {
    const text = this.items.header.texts[i];
    return text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
  }

  kindOf(i) {
    const { header, arrays } = this.places;
    const part = header.parts[arrays.part[i]];
    return this.names[this.sideOf(i)] + (part ? ` · ${part}` : "");
  }

  factsOf(i) {
    const facts = this.items.header.facts
      .map(([name, values]) => [name, values[i]]).filter(([, value]) => value);
    const note = this.places.header.notes?.[i];
    return note ? [...facts, ["topics", note]] : facts;
  }

  keyOf(i) {
    return (i < this.split ? "x" : "y") + this.items.arrays.rows[i];
  }

  /** What an item takes on the screen, with its label: left, top, right, bottom. */
  boxOf(i) {
    const { camera, placing, pictures } = this;
    const [x, y] = this.putAside?.get(i) ?? [camera.toScreenX(this.grid.xs[i]), camera.toScreenY(this.grid.ys[i])];
    const half = pictures.has(i) ? Math.max(28, placing.pictureSize(camera.zoom)) / 2 + 5 : 10;
    const box = [x - half, y - half, x + half, y + half];
    for (const [left, top, right, bottom, j] of this.lettered.boxes) {
      if (j === i) return [Math.min(box[0], left), Math.min(box[1], top), Math.max(box[2], right), Math.max(box[3], bottom)];
    }
    return box;
  }

  /** The item at a pixel: its label or picture, else the nearest dot. */
  itemAt(px, py) {
    const { camera, grid, placing } = this;
    const x = camera.toMapX(px), y = camera.toMapY(py), unit = 1 / camera.scale;
    const level = placing.level(camera.zoom);
    const seen = (i) => !this.isHidden(i);
    const near = grid.nearest(x, y, REACH * unit, seen);
    const apart = near < 0 ? Infinity : Math.hypot(grid.xs[near] - x, grid.ys[near] - y) * camera.scale;
    if (apart < 5) return near;
    const lettered = this.lettered.at(px, py);
    if (lettered >= 0 && seen(lettered)) return lettered;
    let best = -1, closest = Infinity;
    const reach = placing.pictureSize(camera.zoom) / 2;
    grid.each(x - reach * unit, y - reach * unit, x + reach * unit, y + reach * unit, (i) => {
      if (placing.modes[i] !== MODES.picture || !placing.isShown(i, level) || !seen(i)) return;
      const across = Math.abs(camera.toScreenX(grid.xs[i]) - px), up = Math.abs(camera.toScreenY(grid.ys[i]) - py);
      const squared = across ** 2 + up ** 2;
      if (Math.max(across, up) <= reach && squared < closest) {
        closest = squared;
        best = i;
      }
    });
    return best >= 0 ? best : near;
  }
}
