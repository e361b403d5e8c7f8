// Looking for items by their text, bringing what is chosen into sight, and telling the link of it.

import { Filtering } from "./filtering.js";
import { PatternFinder, findText, folded } from "./find.js";

/** Milliseconds without a key before the link follows what is typed. */
const PAUSE = 500;

export class Finding extends Filtering {
  async find(typed, mode) {
    const turn = (this.turn = Symbol("turn"));
    this.tellSet();
    if (!typed.trim() || mode.startsWith("model")) {
      this.#found(null);
      this.panel.told("");
      return;
    }
    if (mode === "pattern") {
      this.finder ??= new PatternFinder(this.items.header.texts);
      const { rows, problem } = await this.finder.find(typed);
      if (turn !== this.turn) return; // something else is looked for since
      this.#found(rows);
      if (problem) this.panel.told(problem);
      return;
    }
    this.folded ??= this.items.header.texts.map(folded);
    this.#found(findText(this.folded, typed));
  }

  #found(rows) {
    this.matches = rows?.filter((i) => !this.isHidden(i)) ?? null;
    this.matched = -1;
    const n = this.matches?.length ?? 0;
    const hint = this.data.asked.length ? " Ask the model to place it." : "";
    if (rows) this.panel.told(n ? `${n.toLocaleString("en")} found` : `Nothing found.${hint}`);
    this.panel.showMatches(this.matches ?? [], -1);
    if (!n) this.matches = null;
    this.draw();
  }

  async nextMatch(turn, typed, mode) {
    if (!this.matches) await this.find(typed, mode);
    const n = this.matches?.length;
    if (!n) return;
    const at = this.matches.indexOf(this.matched);
    this.matched = this.matches[(at + turn + n) % n];
    this.panel.showMatches(this.matches, this.matched);
    this.pick(this.matched);
    this.lookAt(this.xs[this.matched], this.ys[this.matched], Math.max(this.camera.zoom, 2.5));
  }

  /** Where the selected item stands, or will; else the query; undefined for neither. */
  get chosenPlace() {
    const { xs, ys } = this.glide ?? this, { item } = this.selected ?? {};
    return item === undefined ? this.query ?? undefined : { x: xs[item], y: ys[item] };
  }

  /** How much of the height is free: on a phone the panel slides up over the lower half. */
  get freeHeight() {
    const hasSheet = !this.data.isAlone && matchMedia("(max-width: 640px)").matches;
    const free = hasSheet ? 0.55 * innerHeight - this.canvas.getBoundingClientRect().top : Infinity;
    return Math.max(160, Math.min(this.camera.height, free));
  }

  bringIntoView(place = this.chosenPlace) {
    const { camera } = this;
    if (!place || camera.width <= 1 || camera.flight) return;
    const px = camera.toScreenX(place.x), py = camera.toScreenY(place.y), free = this.freeHeight;
    if (px > 60 && py > 60 && px < camera.width - 60 && py < free - 60) return;
    // What is near comes in by the border, what is far to the middle.
    const keep = (value, size) => {
      const least = Math.min(160, size / 2);
      return Math.abs(value - size / 2) > size ? size / 2 : Math.max(least, Math.min(size - least, value));
    };
    this.lookAt(place.x, place.y, camera.zoom, keep(px, camera.width), keep(py, free));
  }

  /** Fly to where a place lies under a pixel, by default in the middle of what is free. */
  lookAt(x, y, zoom, px = this.camera.width / 2, py = this.freeHeight / 2) {
    const { camera } = this, scale = camera.fit * zoom;
    camera.flyTo(x - (px - camera.width / 2) / scale, y + (py - camera.height / 2) / scale, zoom, performance.now());
    this.moved();
  }

  /** Let the link say what is looked for, and what of the legend is hidden. */
  tellSet() {
    const { value } = this.panel.input, way = this.panel.mode.value;
    const isFind = value.trim() && !way.startsWith("model");
    const set = { find: isFind ? [way, value.trim()] : null, closed: [...this.closed], filter: this.filterText() };
    this.later("telling", PAUSE, () => {
      if (JSON.stringify(set) === this.lastSet) return;
      this.lastSet = JSON.stringify(set);
      this.told("set", set);
    });
  }
}
