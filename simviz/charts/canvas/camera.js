// Where the reader looks: a place of the map in the middle of the window, and a zoom.

const FARTHEST = 0.6, NEAREST = 400;
/** The share of the window that the whole map takes at zoom 1. */
const FILLED = 0.9;

export class Camera {
  constructor() {
    this.x = this.y = 0;
    this.zoom = 1;
    this.width = this.height = 1;
    this.bounds = { x: 0, y: 0, half: 1, halfX: 1, halfY: 1 };
    this.flight = null;
  }

  /** The extent of the map, from its grid. */
  frame(grid) {
    const halfX = Math.max((grid.right - grid.left) / 2, 1e-9);
    const halfY = Math.max((grid.high - grid.low) / 2, 1e-9);
    const half = Math.max(halfX, halfY);
    this.bounds = {
      x: (grid.left + grid.right) / 2,
      y: (grid.low + grid.high) / 2,
      half,
      halfX: Math.max(halfX, half * 1e-3),
      halfY: Math.max(halfY, half * 1e-3),
    };
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
    const { x, y, halfX, halfY } = this.bounds;
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

  /** As three numbers that mean the same in a window of any size. */
  told() {
    const { x, y, half } = this.bounds;
    const short = (value) => Math.round(value * 1000) / 1000;
    return [short((this.x - x) / half), short((this.y - y) / half), short(this.zoom)];
  }

  /** Look where three such numbers say. */
  take([across, up, zoom]) {
    const { x, y, half } = this.bounds;
    this.flight = null;
    this.x = x + across * half;
    this.y = y + up * half;
    this.zoom = Math.max(FARTHEST, Math.min(NEAREST, zoom));
    this.#stay();
  }

  /** Corners of an outline in the same numbers, no more than so many. */
  toldCorners(points, most) {
    const { x, y, half } = this.bounds;
    const step = Math.max(1, points.length / most), short = (value) => Math.round(value * 1000) / 1000;
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
    const { x, y, half } = this.bounds;
    return corners.map(([across, up]) => [x + across * half, y + up * half]);
  }
}
