// Which items pass what the reader filters by, and which lie inside what was enclosed.

import { isInside } from "./grid.js";
import { Scene } from "./scene.js";

/** Milliseconds without a change of the filter before labels follow. */
const STILL = 150;

export class Filtering extends Scene {
  constructor() {
    super();
    /** The chosen bins or groups of each column that is filtered by. */
    this.chosen = new Map();
    /** A bit for each column by which an item fails; what is enclosed. */
    this.fails = this.enclosed = null;
  }

  takeItems(items) {
    this.columns = items.header.columns.map((column, k) => ({ ...column, codes: items.arrays[`column${k}`] }));
    this.chosen.clear();
    this.fails = null;
    super.takeItems(items);
  }

  /** Let only some bins or groups of a column pass; all where none is chosen. */
  filterBy(k, codes) {
    if (codes.length) this.chosen.set(k, codes);
    else this.chosen.delete(k);
    this.filter();
    this.tellSet();
  }

  /** As the link says it: "0:3.4.5;2:1" lets three bins of the first column and a group of the third pass. */
  filterText() {
    return [...this.chosen].map(([k, codes]) => `${k}:${codes.join(".")}`).join(";");
  }

  takeFilter(text) {
    this.chosen.clear();
    for (const entry of (text ?? "").split(";").filter(Boolean)) {
      const [k, codes] = entry.split(":");
      if (this.columns[k]) this.chosen.set(Number(k), codes.split(".").map(Number));
    }
    this.filter();
  }

  filter() {
    this.fails = this.chosen.size ? new Uint8Array(this.labels.length) : null;
    for (const [k, codes] of this.chosen) {
      const passes = new Uint8Array(256), { fails } = this, of = this.columns[k].codes;
      for (const code of codes) passes[code] = 1;
      for (let i = 0; i < of.length; i++) if (!passes[of[i]]) fails[i] |= 1 << k;
    }
    this.layer.isStale = true;
    // Room for labels is given anew when the hand has come to rest.
    this.later("labels", STILL, () => {
      this.replace();
      this.layer.isStale = true;
      this.draw();
    });
    // What was found is counted without what is hidden.
    if (this.matches) this.find(this.panel.input.value, this.panel.mode.value);
    this.lists.forEach((list) => list.refresh());
    this.draw();
  }

  /** Items of each bin or group of a column: all, and those that pass the other columns. */
  countsOf(k) {
    const { codes, bins, groups } = this.columns[k];
    const all = new Uint32Array(bins ?? groups.length), passing = all.slice(), others = ~(1 << k);
    for (let i = 0; i < codes.length; i++) {
      if (codes[i] === 255 || this.isGone(i)) continue;
      all[codes[i]]++;
      if (!this.fails || !(this.fails[i] & others)) passing[codes[i]]++;
    }
    return { all, passing };
  }

  /** Not on the map at all: neither its side, its part nor its entry of the legend is shown. */
  isGone(i) {
    return super.isHidden(i);
  }

  isHidden(i) {
    return Boolean(this.fails?.[i]) || super.isHidden(i);
  }

  /** Whether an item stands back: it does not pass, or lies outside what is enclosed. */
  isFaint(i) {
    return Boolean(this.fails?.[i]) || (this.enclosed !== null && !this.enclosed[i]);
  }

  /** Take an outline of the map, or none; answers with the rows inside. */
  encloseBy(outline) {
    const rows = [];
    if (outline) {
      const xs = outline.map(([x]) => x), ys = outline.map(([, y]) => y), { grid } = this;
      grid.each(Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys), (i) => {
        if (!this.isHidden(i) && isInside(grid.xs[i], grid.ys[i], outline)) rows.push(i);
      });
    }
    this.region = rows.length ? outline : null;
    this.encloseRows(rows);
    return rows;
  }

  /** Have all other items stand back. */
  encloseRows(rows) {
    this.enclosed = rows.length ? new Uint8Array(this.labels.length) : null;
    for (const i of rows) this.enclosed[i] = 1;
    this.layer.isStale = true;
  }
}
