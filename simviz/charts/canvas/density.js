// Where most items lie, as contours that are drawn from far.

/** Cells along the longer side, passes of the blur, and the shares of the peak that are outlined. */
const ACROSS = 64, PASSES = 3, SHARES = [0.2, 0.45, 0.75];
/** Fewer items need no contours; from this zoom on they have faded away. */
const FEWEST_DENSE = 300, NEAR_ZOOM = 2.4;

export class Density {
  constructor(grid, isHidden) {
    const { xs, ys, left, right, low, high } = grid;
    this.cell = Math.max(right - left, high - low, 1e-9) / ACROSS;
    const margin = 2 * PASSES;
    this.left = left - margin * this.cell;
    this.low = low - margin * this.cell;
    this.columns = Math.ceil((right - left) / this.cell) + 2 * margin + 1;
    this.rows = Math.ceil((high - low) / this.cell) + 2 * margin + 1;
    this.values = new Float32Array(this.columns * this.rows);
    let n = 0;
    for (let i = 0; i < xs.length; i++) {
      if (isHidden(i)) continue;
      n++;
      this.values[Math.floor((ys[i] - this.low) / this.cell) * this.columns + Math.floor((xs[i] - this.left) / this.cell)]++;
    }
    this.isDense = n >= FEWEST_DENSE;
    if (!this.isDense) return;
    for (let pass = 0; pass < PASSES; pass++) this.#blur();
    const peak = this.values.reduce((most, value) => Math.max(most, value), 0);
    this.paths = SHARES.map((share) => this.#outline(share * peak));
  }

  /** The mean of each cell and its eight neighbours. */
  #blur() {
    const { values, columns, rows } = this, next = new Float32Array(values.length);
    for (let r = 1; r < rows - 1; r++) {
      for (let c = 1; c < columns - 1; c++) {
        let sum = 0;
        for (let k = -1; k <= 1; k++) {
          const at = (r + k) * columns + c;
          sum += values[at - 1] + values[at] + values[at + 1];
        }
        next[r * columns + c] = sum / 9;
      }
    }
    this.values = next;
  }

  /** Marching squares: the line between cells below and above a value, in cells. */
  #outline(value) {
    const { values, columns, rows } = this, path = new Path2D();
    for (let r = 0; r < rows - 1; r++) {
      for (let c = 0; c < columns - 1; c++) {
        const at = r * columns + c;
        const corners = [[c, r, values[at]], [c + 1, r, values[at + 1]], [c + 1, r + 1, values[at + columns + 1]], [c, r + 1, values[at + columns]]];
        const crossed = [];
        corners.forEach(([x, y, v], k) => {
          const [x1, y1, v1] = corners[(k + 1) % 4];
          if (v > value === v1 > value) return;
          const share = (value - v) / (v1 - v);
          crossed.push([x + share * (x1 - x), y + share * (y1 - y)]);
        });
        for (let k = 0; k + 1 < crossed.length; k += 2) {
          path.moveTo(...crossed[k]);
          path.lineTo(...crossed[k + 1]);
        }
      }
    }
    return path;
  }

  /** Draw behind what is there, on a layer. */
  draw(pen, layer, { camera, look }) {
    const seen = Math.min(1, NEAR_ZOOM - camera.zoom);
    if (!this.isDense || seen <= 0) return;
    const unit = this.cell * layer.scale;
    const toLayer = new DOMMatrix([unit, 0, 0, -unit, layer.toX(this.left + this.cell / 2), layer.toY(this.low + this.cell / 2)]);
    pen.save();
    pen.globalCompositeOperation = "destination-over";
    pen.strokeStyle = look.muted;
    pen.lineWidth = 1;
    this.paths.forEach((path, k) => {
      pen.globalAlpha = seen * (0.22 + 0.1 * k);
      const placed = new Path2D();
      placed.addPath(path, toLayer);
      pen.stroke(placed);
    });
    pen.restore();
  }
}
