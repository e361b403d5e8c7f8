// What stands beside the map: histograms that filter, and a list of items. Pointing at a row shows
// its item on the map, and pointing at an item shows its row.

import { fromBase64 } from "./decode.js";
import { el, paint } from "./dom.js";
import { Histograms } from "./histograms.js";

/** Pixels of a row; rows that are kept beyond both ends of what is seen. */
const TALL = 30, SPARE_ROWS = 4;

export class Rows {
  constructor(root, shared) {
    this.shared = shared;
    this.box = el("div", "sv-map sv-side");
    this.histograms = new Histograms(() => this.view);
    this.head = el("div", "sv-side-head");
    this.count = el("span", "", "", { role: "status" });
    this.by = el("select", "", "", { "aria-label": "Sort the list by" });
    this.head.append(this.count, this.by);
    this.list = el("div", "sv-rows", "", { role: "listbox", tabindex: "0" });
    this.space = el("div", "sv-space", "", { role: "presentation" });
    this.list.append(this.space);
    this.box.append(this.histograms.box, this.head, this.list);
    root.append(this.box);
    this.rows = [];
    /** Rows that are put down, by their place in the list. */
    this.made = new Map();
    this.marked = -1;
    this.at = -1;
    this.by.addEventListener("change", () => this.refresh());
    this.list.addEventListener("scroll", () => this.#paint());
    this.list.addEventListener("keydown", (event) => this.#key(event));
    // A press brings the focus too: rows that were put down anew under it would take the click away.
    this.list.addEventListener("focus", () => {
      if (this.list.matches(":focus-visible")) this.#go(Math.max(this.at, 0));
    });
    this.list.addEventListener("blur", () => this.view?.point(-1));
    this.list.addEventListener("pointerleave", () => this.view?.point(-1));
    this.list.addEventListener("pointermove", (event) => {
      const k = this.#rowAt(event);
      if (k < 0) return;
      this.view?.point(this.rows[k].item);
      // Only a text that is cut off is told once more.
      const words = this.made.get(k)?.made.querySelector("span");
      if (words && words.scrollWidth > words.clientWidth) words.title = words.textContent;
    });
    this.list.addEventListener("click", (event) => this.#choose(this.#rowAt(event)));
    shared.lists.add(this);
  }

  close() {
    this.shared.lists.delete(this);
  }

  get view() {
    const { view } = this.shared;
    return view && !view.isClosed && view.look ? view : null;
  }

  update({ data }) {
    this.data = data;
    this.found = data.found ? new Float32Array(fromBase64(data.found).buffer) : null;
    this.bits = data.rows ? fromBase64(data.rows) : null;
    this.sorted = null;
    this.list.setAttribute("aria-label", data.title);
    this.at = -1;
    this.refresh();
  }

  /** The items, their colours or the filter are others. */
  refresh() {
    const { view, data } = this;
    if (!view || !data) return;
    if (this.look !== view.look) {
      this.look = view.look;
      paint(this.box, view.look);
    }
    // Read before anything is written: the page is laid out once.
    const { scrollTop, clientHeight } = this.list;
    this.histograms.update(data.filters ? view.columns : []);
    this.head.hidden = Boolean(data.entries);
    if (data.entries) {
      this.rows = data.entries.map(([item, key, text, note]) => ({ item, key, text, note }));
    } else {
      this.#listItems();
    }
    this.places = new Map(this.rows.map(({ item }, k) => [item, k]));
    this.space.style.height = `${TALL * this.rows.length}px`;
    this.#paint(Math.min(scrollTop, TALL * this.rows.length), clientHeight);
  }

  #listItems() {
    const { view, found } = this;
    const facts = view.items.header.facts, { value } = this.by;
    const ways = ["text", ...(found ? ["1 / rank"] : []), ...facts.map(([name]) => name)];
    if (ways.join("\n") !== this.ways) {
      this.ways = ways.join("\n");
      this.by.replaceChildren(...ways.map((name) => el("option", "", name, { value: name })));
      this.by.value = ways.includes(value) ? value : ways[found ? 1 : 0];
    }
    const by = this.by.value;
    // Sorted once; a filter takes from it.
    if (this.sortedBy !== by || this.sortedOf !== view.items) this.sorted = null;
    this.sorted ??= this.#sortItems(by);
    Object.assign(this, { sortedBy: by, sortedOf: view.items });
    this.rows = this.sorted.filter(({ item }) => !view.isHidden(item));
    this.count.textContent = `${this.rows.length.toLocaleString("en")} items`;
  }

  #sortItems(by) {
    const { view, bits, found } = this, { facts } = view.items.header;
    const fact = facts.find(([name]) => name === by)?.[1];
    const rows = [];
    for (let i = 0, k = 0; i < view.labels.length; i++) {
      const isIn = !bits || bits[i >> 3] & (1 << (i & 7));
      const rank = isIn && found ? found[k++] : NaN;
      if (!isIn) continue;
      const note = fact ? fact[i] : rank >= 0 ? rank.toFixed(2) : "";
      rows.push({ item: i, key: view.keyOf(i), text: view.items.header.texts[i], note, rank });
    }
    const { compare } = new Intl.Collator(undefined, { numeric: true });
    if (by === "1 / rank") rows.sort((a, b) => (a.rank >= 0 ? a.rank : 2) - (b.rank >= 0 ? b.rank : 2));
    else if (fact) rows.sort((a, b) => !a.note - !b.note || compare(a.note, b.note));
    else rows.sort((a, b) => compare(a.text, b.text));
    return rows;
  }

  /** Show which row an item of the map has. */
  mark(item) {
    if (item === this.marked) return;
    this.marked = item;
    const k = this.places?.get(item);
    if (k !== undefined && !this.list.matches(":hover, :focus")) this.#scrollTo(k);
    this.#paint();
  }

  #scrollTo(k) {
    const { list } = this, top = k * TALL;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + TALL > list.scrollTop + list.clientHeight) list.scrollTop = top + TALL - list.clientHeight;
  }

  #rowAt(event) {
    const k = Math.floor((event.clientY - this.space.getBoundingClientRect().top) / TALL);
    return k < this.rows.length ? k : -1;
  }

  #choose(k) {
    if (k < 0) return;
    this.at = k;
    this.view?.pickKey(this.rows[k].key, this.rows[k].item);
  }

  #go(k) {
    this.at = Math.max(0, Math.min(this.rows.length - 1, k));
    if (!this.rows.length) return;
    this.#scrollTo(this.at);
    this.view?.point(this.rows[this.at].item);
    this.#paint();
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.list.clientHeight / TALL) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 };
    if (event.key in moves) this.#go(this.at + moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.#choose(this.at);
    else if (event.key === "Escape") this.view?.letGo();
    else return;
    event.preventDefault();
  }

  /** Put down the rows that are seen. */
  #paint(top = this.list.scrollTop, height = this.list.clientHeight) {
    const { view, list, rows } = this;
    if (!view) return;
    const first = Math.max(0, Math.floor(top / TALL) - SPARE_ROWS);
    const last = Math.min(rows.length, Math.ceil((top + (height || 600)) / TALL) + SPARE_ROWS);
    // A row that is the same stays: a press that begins on it ends on it.
    const before = this.madeOf === view.items ? this.made : new Map();
    if (this.madeOf !== view.items) this.space.replaceChildren();
    Object.assign(this, { made: new Map(), madeOf: view.items });
    for (let k = first; k < last; k++) {
      const { item, text, note } = rows[k], isDrawn = item >= 0;
      const looks = isDrawn ? [view.pictures.has(item), view.colours[view.groups[item]], view.look.name] : [];
      const said = JSON.stringify([item, text, note, rows.length, ...looks]), old = before.get(k);
      const made = old?.said === said ? old.made : this.#row(rows[k], k);
      if (made === old?.made) before.delete(k);
      made.setAttribute("aria-selected", String(isDrawn && item === view.selected?.item));
      made.classList.toggle("sv-now", (isDrawn && item === this.marked) || (k === this.at && list.matches(":focus")));
      this.made.set(k, { said, made });
    }
    before.forEach(({ made }) => made.remove());
    let next = this.space.firstElementChild;
    for (const { made } of this.made.values()) {
      if (made === next) next = next.nextElementSibling;
      else this.space.insertBefore(made, next);
    }
    if (this.at >= 0) list.setAttribute("aria-activedescendant", `sv-row-${this.at}`);
  }

  #row({ item, text, note }, k) {
    const { view } = this;
    const made = el("div", "sv-row", "", {
      role: "option", id: `sv-row-${k}`, "aria-posinset": k + 1, "aria-setsize": this.rows.length,
    });
    made.style.top = `${k * TALL}px`;
    if (item >= 0 && view.pictures.has(item)) {
      text = view.textOf(item, 120); // without the glyph before it
      made.append(view.pictures.shot(item, 52, view.look.ink));
    } else if (item >= 0) {
      const mark = el("i", view.sideOf(item) ? "sv-diamond" : "sv-circle");
      mark.style.setProperty("--colour", view.colours[view.groups[item]]);
      made.append(mark);
    }
    made.append(el("span", "", text, { dir: "auto" }), el("small", "", note));
    return made;
  }
}
