// Pictures of items out of one sheet; drawings in one ink take the colour they are given.

import { sized } from "./dom.js";

const GLYPH = 56;

/** A sheet of equal cells, some of them tinted on request. */
export class Pictures {
  /** @param onReady called when there is something to draw */
  constructor(items, onReady) {
    const { sheet } = items.header;
    Object.assign(this, { first: 0, count: 0, ...sheet, sheet: null, tinted: new Map() });
    if (sheet) {
      const blob = new Blob([items.arrays.sheet], { type: "image/png" });
      createImageBitmap(blob).then((bitmap) => {
        this.sheet = bitmap;
        onReady();
      });
    } else if (items.header.glyphs) {
      this.#drawGlyphs(items.header.glyphs);
    }
  }

  /** Emoji are drawn once: to write them anew in every picture would be slow. */
  #drawGlyphs({ first, labels }) {
    const count = labels.length, columns = Math.max(1, Math.ceil(Math.sqrt(count)));
    const sheet = sized(columns * GLYPH, Math.ceil(count / columns) * GLYPH);
    Object.assign(this, { first, count, columns, sheet, cell: GLYPH, glyphs: labels });
    this.#write("#000000");
  }

  /** Some systems have glyphs in one ink only: they take that of the page. */
  #write(ink) {
    if (this.ink === ink) return;
    this.ink = ink;
    const pen = this.sheet.getContext("2d");
    pen.clearRect(0, 0, this.sheet.width, this.sheet.height);
    pen.font = `${Math.round(GLYPH * 0.74)}px 'Apple Color Emoji', 'Segoe UI Emoji', ` +
      "'Noto Color Emoji', system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillStyle = ink;
    this.glyphs.forEach((glyph, k) => {
      const x = (k % this.columns) * GLYPH, y = Math.floor(k / this.columns) * GLYPH;
      pen.save();
      pen.beginPath();
      pen.rect(x, y, GLYPH, GLYPH);
      pen.clip();
      pen.fillText(glyph, x + GLYPH / 2, y + GLYPH / 2 + 2, GLYPH);
      pen.restore();
    });
  }

  setInk(ink) {
    if (this.glyphs) this.#write(ink);
  }

  has(i) {
    const k = i - this.first;
    return this.sheet !== null && k >= 0 && k < this.count && this.glyphs?.[k] !== "";
  }

  /** Draw the picture of an item into a square. */
  draw(pen, i, x, y, size, colour) {
    const k = i - this.first;
    const sheet = this.is_ink ? this.#inColour(colour) : this.sheet;
    const left = (k % this.columns) * this.cell, top = Math.floor(k / this.columns) * this.cell;
    pen.drawImage(sheet, left, top, this.cell, this.cell, x, y, size, size);
  }

  /** The picture of an item as an element of so many pixels. */
  shot(i, size, colour, name = "") {
    const made = sized(size, size, name);
    this.draw(made.getContext("2d"), i, 0, 0, size, colour);
    return made;
  }

  #inColour(colour) {
    let canvas = this.tinted.get(colour);
    if (!canvas) {
      canvas = sized(this.sheet.width, this.sheet.height);
      const pen = canvas.getContext("2d");
      pen.drawImage(this.sheet, 0, 0);
      pen.globalCompositeOperation = "source-in";
      pen.fillStyle = colour;
      pen.fillRect(0, 0, canvas.width, canvas.height);
      // A scale has more colours than are worth keeping a sheet for.
      if (this.tinted.size >= 9) this.tinted.delete(this.tinted.keys().next().value);
      this.tinted.set(colour, canvas);
    }
    return canvas;
  }
}
