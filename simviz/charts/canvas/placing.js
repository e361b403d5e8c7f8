// Which words and pictures find room at which zoom.
//
// What is shown at a zoom stays where it is at every closer one, so nothing flickers while the
// reader moves: distances grow faster than labels do. Items are given room in the order of their
// priority, level by level, each level being the zoom at which areas have doubled.

const CELL = 48;
/** So many pictures are all shown, wherever they stand. */
const ALL_SHOWN = 300;
/** Items tried a level while much is crowded. */
const TRIED = 5000, CROWDED_LEVELS = 8;
/** Dots of other items that a label may cover. */
const MAX_COVERED = 4;
export const FONT_SIZE = 12.5;
const WORD = 0, TEXT = 1, PICTURE = 2, DOT = 3;
export const MODES = { word: WORD, text: TEXT, picture: PICTURE, dot: DOT };
const NEVER = 255;

/** Taken boxes, looked up by the cells they touch. */
class Room {
  constructor() {
    this.cells = new Map();
    this.boxes = [];
  }

  isFree(left, top, right, bottom) {
    const { boxes } = this;
    for (let r = Math.floor(top / CELL); r <= Math.floor(bottom / CELL); r++) {
      for (let c = Math.floor(left / CELL); c <= Math.floor(right / CELL); c++) {
        const known = this.cells.get(r * 65536 + c);
        if (!known) continue;
        for (const b of known) {
          if (left < boxes[b + 2] && right > boxes[b] && top < boxes[b + 3] && bottom > boxes[b + 1]) {
            return false;
          }
        }
      }
    }
    return true;
  }

  take(left, top, right, bottom) {
    const at = this.boxes.push(left, top, right, bottom) - 4;
    for (let r = Math.floor(top / CELL); r <= Math.floor(bottom / CELL); r++) {
      for (let c = Math.floor(left / CELL); c <= Math.floor(right / CELL); c++) {
        const key = r * 65536 + c;
        const known = this.cells.get(key);
        if (known) known.push(at);
        else this.cells.set(key, [at]);
      }
    }
  }
}

export class Placing {
  /**
   * @param xs, ys positions
   * @param modes how each item may be shown
   * @param order items, the most important first
   * @param fit pixels a unit at zoom 1
   * @param area of the window in pixels
   * @param widthOf the width in pixels of an item's label
   * @param grid the items by their positions
   */
  constructor({ xs, ys, modes, order, fit, area, widthOf, isHidden, regions, grid }) {
    Object.assign(this, { xs, ys, modes, order, fit, widthOf, isHidden, regions, grid });
    const n = xs.length;
    /** The level from which on an item is shown by more than a dot. */
    this.from = new Uint8Array(n).fill(NEVER);
    /** On which side of its dot a text stands: 1 right, -1 left. */
    this.turn = new Int8Array(n);
    this.done = -1;
    let pictures = 0;
    for (let i = 0; i < n; i++) if (modes[i] === PICTURE) pictures++;
    this.showsAll = pictures <= ALL_SHOWN;
    this.smallest = Math.max(15, Math.min(32, 0.55 * Math.sqrt(area / Math.max(pictures, 1))));
  }

  /** Side of a picture in pixels. */
  pictureSize(zoom) {
    return Math.min(96, this.smallest * Math.pow(Math.max(zoom, 0.6), 0.5));
  }

  level(zoom) {
    return Math.max(0, Math.min(24, Math.floor(2 * Math.log2(Math.max(zoom, 1)) + 1e-6)));
  }

  /** Whether an item is shown by more than a dot. */
  isShown(i, level) {
    return this.from[i] <= level;
  }

  /** Make sure that a level is placed, and all before it. */
  prepare(level) {
    for (let l = this.done + 1; l <= level; l++) {
      this.#place(l);
      this.done = l;
    }
  }

  #place(level) {
    const { xs, ys, modes, order, from } = this;
    const zoom = Math.pow(2, level / 2), scale = this.fit * zoom;
    const size = this.pictureSize(zoom * Math.SQRT2) + 3;
    const room = new Room();
    const box = new Float64Array(4);
    const claim = (i, turn, isKnown) => {
      this.#box(box, xs[i] * scale, -ys[i] * scale, i, turn, size);
      if (!isKnown && !room.isFree(box[0], box[1], box[2], box[3])) return false;
      if (!isKnown && modes[i] !== PICTURE && this.#covered(box, scale, i) > MAX_COVERED) return false;
      room.take(box[0], box[1], box[2], box[3]);
      return true;
    };
    for (const r of this.regions) {
      if (r.from > level || r.to < level) continue;
      const x = r.x * scale, y = -r.y * scale;
      room.take(x - r.width / 2 - 6, y - r.height / 2 - 3, x + r.width / 2 + 6, y + r.height / 2 + 3);
    }
    for (const i of order) if (from[i] < level) claim(i, this.turn[i], true);
    if (this.showsAll) {
      for (const i of order) {
        if (from[i] === NEVER && modes[i] === PICTURE && !this.isHidden(i) && claim(i, 0, true)) from[i] = level;
      }
    }
    const most = level < CROWDED_LEVELS ? TRIED : order.length;
    for (let j = 0, tried = 0; j < order.length && tried < most; j++) {
      const i = order[j];
      if (from[i] !== NEVER || modes[i] === DOT || this.isHidden(i)) continue;
      tried++;
      if (modes[i] === TEXT) {
        for (const turn of [1, -1]) {
          if (claim(i, turn, false)) {
            from[i] = level;
            this.turn[i] = turn;
            break;
          }
        }
      } else if (claim(i, 0, false)) {
        from[i] = level;
      }
    }
  }

  /** How many other items lie in a box. */
  #covered(box, scale, own) {
    let n = 0;
    this.grid.each(box[0] / scale, -box[3] / scale, box[2] / scale, -box[1] / scale, (i) => {
      if (i !== own && !this.isHidden(i)) n++;
    });
    return n;
  }

  /** The box that an item takes around a place in pixels. */
  #box(box, x, y, i, turn, pictureSize) {
    const mode = this.modes[i];
    if (mode === PICTURE) {
      const half = pictureSize / 2;
      box[0] = x - half, box[1] = y - half, box[2] = x + half, box[3] = y + half;
      return;
    }
    const width = this.widthOf(i), half = FONT_SIZE * 0.78;
    const left = mode === WORD ? x - width / 2 - 5 : turn > 0 ? x - 6 : x - width - 16;
    const across = mode === WORD ? width + 10 : width + 22;
    box[0] = left, box[1] = y - half, box[2] = left + across, box[3] = y + half;
  }
}
