// A grid over points: who is near a place, who lies in a box.

/** Points sorted into square cells, about four a cell; two arrays hold it all. */
export class Grid {
  constructor(xs, ys) {
    this.xs = xs;
    this.ys = ys;
    const n = xs.length;
    const least = (values) => (n ? values.reduce((a, b) => Math.min(a, b)) : 0);
    const most = (values) => (n ? values.reduce((a, b) => Math.max(a, b)) : 0);
    const left = least(xs), right = most(xs), low = least(ys), high = most(ys);
    Object.assign(this, { left, right, low, high });
    const extent = Math.max(right - left, high - low, 1e-9);
    const across = Math.max(1, Math.ceil(Math.sqrt(n / 4)));
    this.size = extent / across;
    this.columns = Math.floor((right - left) / this.size) + 1;
    this.rows = Math.floor((high - low) / this.size) + 1;
    this.start = new Uint32Array(this.columns * this.rows + 1);
    this.items = new Uint32Array(n);
    const cells = new Uint32Array(n);
    for (let i = 0; i < n; i++) {
      cells[i] = this.#row(ys[i]) * this.columns + this.#column(xs[i]);
      this.start[cells[i] + 1]++;
    }
    for (let c = 0; c < this.start.length - 1; c++) this.start[c + 1] += this.start[c];
    const next = this.start.slice();
    for (let i = 0; i < n; i++) this.items[next[cells[i]]++] = i;
  }

  #column(x) {
    return Math.max(0, Math.min(this.columns - 1, Math.floor((x - this.left) / this.size)));
  }

  #row(y) {
    return Math.max(0, Math.min(this.rows - 1, Math.floor((y - this.low) / this.size)));
  }

  /** Visit each point in a box. */
  each(x0, y0, x1, y1, visit) {
    const { start, items, xs, ys, columns } = this;
    const last = this.#column(x1), top = this.#row(y1);
    for (let row = this.#row(y0); row <= top; row++) {
      for (let column = this.#column(x0); column <= last; column++) {
        const cell = row * columns + column;
        for (let j = start[cell]; j < start[cell + 1]; j++) {
          const i = items[j];
          if (xs[i] >= x0 && xs[i] <= x1 && ys[i] >= y0 && ys[i] <= y1) visit(i);
        }
      }
    }
  }

  /** The accepted point nearest to a place, at most so far away; -1 if there is none. */
  nearest(x, y, radius, accept) {
    let best = -1, closest = radius * radius;
    this.each(x - radius, y - radius, x + radius, y + radius, (i) => {
      const dx = this.xs[i] - x, dy = this.ys[i] - y, squared = dx * dx + dy * dy;
      if (squared <= closest && accept(i)) {
        best = i;
        closest = squared;
      }
    });
    return best;
  }
}

/** Whether a place lies within a closed outline (even-odd rule). */
export function isInside(x, y, outline) {
  let inside = false;
  for (let i = 0, j = outline.length - 1; i < outline.length; j = i++) {
    const [xi, yi] = outline[i], [xj, yj] = outline[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}
