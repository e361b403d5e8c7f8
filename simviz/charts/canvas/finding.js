// Looking for items by their text, and telling the link of it.

import { Filtering } from "./filtering.js";
import { PatternFinder, findText, folded } from "./find.js";

/** Milliseconds without a key before the link follows what is typed. */
const PAUSE = 500;

export class Finding extends Filtering {
  async find(typed, mode) {
    this.tellSet();
    if (!typed.trim() || mode.startsWith("model")) {
      this.#found(null);
      this.panel.told("");
      return;
    }
    if (mode === "pattern") {
      this.finder ??= new PatternFinder(this.items.header.texts);
      const { rows, problem } = await this.finder.find(typed);
      if (problem) {
        this.#found(null);
        this.panel.told(problem);
        return;
      }
      this.#found(rows);
      return;
    }
    this.folded ??= this.items.header.texts.map(folded);
    this.#found(findText(this.folded, typed));
  }

  #found(rows) {
    this.matches = rows?.filter((i) => !this.isHidden(i)) ?? null;
    this.matched = -1;
    const n = this.matches?.length ?? 0;
    if (rows) this.panel.told(n ? `${n.toLocaleString("en")} found` : "Nothing found. Ask the model to place it.");
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
    this.camera.flyTo(this.xs[this.matched], this.ys[this.matched], Math.max(this.camera.zoom, 2.5), performance.now());
    this.moved();
  }

  /** Let the link say what is looked for, and what of the legend is hidden. */
  tellSet() {
    const { value } = this.panel.input, way = this.panel.mode.value;
    const isFind = value.trim() && !way.startsWith("model");
    const set = { find: isFind ? [way, value.trim()] : null, closed: [...this.closed], filter: this.filterText() };
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      if (JSON.stringify(set) === this.lastSet) return;
      this.lastSet = JSON.stringify(set);
      this.told("set", set);
    }, PAUSE);
  }
}
