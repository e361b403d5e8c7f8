// Where the reader looks: a place of the map in the middle of the window, and a zoom.

const FARTHEST = 0.6, NEAREST = 400;
/** The share of the window that the frame takes at zoom 1. */
const FILLED = 0.9;
/** Share of the items beyond each border of the frame, and what it is widened by. */
const BEYOND = 0.01, WIDENED = 0.06;

/** A number as a link says it. */
function short(value) {
  return Math.round(value * 1000) / 1000;
}

/** The middle and half the length of what lies between two places. */
function halved(from, to) {
  return [(from + to) / 2, Math.max((to - from) / 2, 1e-9)];
}

/** Where all but a few values lie, with a margin. */
function framed(values) {
  const sorted = Float32Array.from(values).sort(), last = sorted.length - 1;
  const few = Math.floor(BEYOND * sorted.length);
  const low = sorted[few] ?? 0, high = sorted[last - few] ?? 0;
  const margin = WIDENED * (high - low);
  return halved(Math.max(sorted[0] ?? 0, low - margin), Math.min(sorted[last] ?? 0, high + margin));
}

export class Camera {
  constructor() {
    this.x = this.y = 0;
    this.zoom = 1;
    this.width = this.height = 1;
    /** What is shown at first: a few items may lie outside. */
    this.bounds = { x: 0, y: 0, halfX: 1, halfY: 1 };
    /** The whole map. */
    this.extent = { x: 0, y: 0, half: 1, halfX: 1, halfY: 1 };
    this.flight = null;
  }

  /** Take the extent of the map and its frame from its grid. */
  frame(grid) {
    const [x, halfX] = halved(grid.left, grid.right), [y, halfY] = halved(grid.low, grid.high);
    const half = Math.max(halfX, halfY);
    this.extent = { x, y, half, halfX, halfY };
    const [midX, wide] = framed(grid.xs), [midY, high] = framed(grid.ys);
    const least = Math.max(wide, high) * 1e-3;
    this.bounds = { x: midX, y: midY, halfX: Math.max(wide, least), halfY: Math.max(high, least) };
  }

  /** Pixels a unit at zoom 1. */
  get fit() {
    const { halfX, halfY } = this.bounds;
    return (FILLED / 2) * Math.min(this.width / halfX, this.height / halfY);
  }

  get scale() {
    return this.fit * this.zoom;
  }

  toScreenX(x) {
    return (x - this.x) * this.scale + this.width / 2;
  }

  toScreenY(y) {
    return (this.y - y) * this.scale + this.height / 2;
  }

  toMapX(px) {
    return (px - this.width / 2) / this.scale + this.x;
  }

  toMapY(py) {
    return this.y - (py - this.height / 2) / this.scale;
  }

  /** Whether a place lies in the window. */
  sees({ x, y }) {
    const px = this.toScreenX(x), py = this.toScreenY(y);
    return px >= 0 && py >= 0 && px <= this.width && py <= this.height;
  }

  panBy(dx, dy) {
    this.flight = null;
    this.x -= dx / this.scale;
    this.y += dy / this.scale;
    this.#stay();
  }

  /** Zoom so that the place under a pixel stays there. */
  zoomBy(factor, px = this.width / 2, py = this.height / 2) {
    this.flight = null;
    const x = this.toMapX(px), y = this.toMapY(py);
    this.zoom = Math.max(FARTHEST, Math.min(NEAREST, this.zoom * factor));
    this.x = x - (px - this.width / 2) / this.scale;
    this.y = y + (py - this.height / 2) / this.scale;
    this.#stay();
  }

  /** The middle never leaves the map. */
  #stay() {
    const { x, y, halfX, halfY } = this.extent;
    this.x = Math.max(x - halfX, Math.min(x + halfX, this.x));
    this.y = Math.max(y - halfY, Math.min(y + halfY, this.y));
  }

  /** Move to a place in a while; at once for readers who asked for less motion. */
  flyTo(x, y, zoom, now, milliseconds = 350) {
    zoom = Math.max(FARTHEST, Math.min(NEAREST, zoom));
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) milliseconds = 0;
    if (!milliseconds) {
      Object.assign(this, { x, y, zoom, flight: null });
      this.#stay();
      return;
    }
    this.flight = {
      from: [this.x, this.y, Math.log(this.zoom)],
      to: [x, y, Math.log(zoom)],
      start: now,
      milliseconds,
    };
  }

  flyHome(now) {
    this.flyTo(this.bounds.x, this.bounds.y, 1, now);
  }

  /** Take the next step of a flight; whether there was one. */
  step(now) {
    if (!this.flight) return false;
    const { from, to, start, milliseconds } = this.flight;
    const done = Math.min(1, Math.max(0, (now - start) / milliseconds));
    const eased = done * done * (3 - 2 * done);
    this.x = from[0] + eased * (to[0] - from[0]);
    this.y = from[1] + eased * (to[1] - from[1]);
    this.zoom = Math.exp(from[2] + eased * (to[2] - from[2]));
    if (done === 1) this.flight = null;
    return true;
  }

  /** Be where a flight ends. */
  land() {
    this.step(Infinity);
  }

  /** As three numbers that mean the same in a window of any size. */
  place() {
    const { x, y, half } = this.extent;
    // The first view goes unsaid.
    const apart = Math.hypot(this.x - this.bounds.x, this.y - this.bounds.y) * this.scale;
    if (apart < 0.5 && Math.abs(this.zoom - 1) < 1e-6) return [0, 0, 1];
    return [(this.x - x) / half, (this.y - y) / half, this.zoom];
  }

  /** The same, as short as a link says it. */
  told() {
    return this.place().map(short);
  }

  /** Look where three such numbers say. */
  take([across, up, zoom]) {
    this.flight = null;
    if (!across && !up && zoom === 1) {
      Object.assign(this, { x: this.bounds.x, y: this.bounds.y, zoom });
      return;
    }
    const { x, y, half } = this.extent;
    this.x = x + across * half;
    this.y = y + up * half;
    this.zoom = Math.max(FARTHEST, Math.min(NEAREST, zoom));
    this.#stay();
  }

  /** Corners of an outline in the same numbers, no more than so many. */
  toldCorners(points, most) {
    const { x, y, half } = this.extent;
    const step = Math.max(1, points.length / most);
    const kept = [];
    for (let k = 0; k < points.length && kept.length < most; k += step) {
      const [px, py] = points[Math.floor(k)];
      const told = [short((px - x) / half), short((py - y) / half)];
      kept.push(told.map((value) => Math.max(-999, Math.min(999, value))));
    }
    return kept;
  }

  /** Such corners as places of the map. */
  fromTold(corners) {
    const { x, y, half } = this.extent;
    return corners.map(([across, up]) => [x + across * half, y + up * half]);
  }
}
