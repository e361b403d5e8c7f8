// Histograms of columns: a range of numbers is brushed, a group is clicked, and only they pass.

import { button, el } from "./dom.js";

export class Histograms {
  /** @param view answers with the map */
  constructor(view) {
    this.view = view;
    this.box = el("div", "sv-columns");
  }

  update(columns) {
    if (this.columns !== columns) {
      this.columns = columns;
      this.parts = columns.map((column, k) => (column.bins ? this.#numbers(column, k) : this.#groups(column, k)));
      this.clear = button("sv-clear", "Clear filter", () => {
        this.view().takeFilter("");
        this.view().tellSet();
      });
      this.box.replaceChildren(...this.parts.map(({ box }) => box), ...(columns.length ? [this.clear] : []));
    }
    this.parts?.forEach((part) => part.show());
    if (this.clear) this.clear.hidden = !this.view().chosen.size;
  }

  #frame(name) {
    const box = el("div", "sv-column", "", { role: "group", "aria-label": name });
    const head = el("div", "sv-column-head");
    const said = el("small");
    head.append(el("span", "", name, { dir: "auto" }), said);
    box.append(head);
    return { box, said };
  }

  #numbers({ name, low, high, bins }, k) {
    const { box, said } = this.#frame(name);
    const bars = el("div", "sv-bars");
    const all = Array.from({ length: bins }, () => el("i")), passing = all.map(() => el("b"));
    all.forEach((bar, bin) => bar.append(passing[bin]));
    bars.append(...all);
    const ends = ["from", "to"].map((end) => el("input", "", "", {
      type: "range", min: "0", max: String(bins - 1), "aria-label": `${name}, ${end}`,
    }));
    const choose = (a, b) => {
      const from = Math.max(0, Math.min(a, b)), to = Math.min(bins - 1, Math.max(a, b));
      const isAll = from === 0 && to === bins - 1;
      this.view().filterBy(k, isAll ? [] : Array.from({ length: to - from + 1 }, (_, bin) => from + bin));
    };
    for (const end of ends) end.addEventListener("input", () => choose(+ends[0].value, +ends[1].value));
    let start = null;
    const binAt = (event) => {
      const { left, width } = bars.getBoundingClientRect();
      return Math.max(0, Math.min(bins - 1, Math.floor(((event.clientX - left) / width) * bins)));
    };
    bars.addEventListener("pointerdown", (event) => {
      bars.setPointerCapture(event.pointerId);
      start = binAt(event);
      choose(start, start);
    });
    bars.addEventListener("pointermove", (event) => {
      if (start !== null) choose(start, binAt(event));
    });
    bars.addEventListener("pointerup", () => (start = null));
    bars.addEventListener("pointercancel", () => (start = null));
    const valueAt = (bin) => Number((low + (bin / bins) * (high - low)).toPrecision(4)).toString();
    const show = () => {
      const counts = this.view().countsOf(k), most = Math.max(1, ...counts.all), chosen = this.view().chosen.get(k);
      all.forEach((bar, bin) => {
        bar.style.setProperty("--share", counts.all[bin] / most);
        passing[bin].style.height = `${(100 * counts.passing[bin]) / Math.max(1, counts.all[bin])}%`;
        bar.classList.toggle("sv-out", Boolean(chosen && !chosen.includes(bin)));
      });
      const from = chosen ? Math.min(...chosen) : 0, to = chosen ? Math.max(...chosen) : bins - 1;
      ends[0].value = from;
      ends[1].value = to;
      said.textContent = `${valueAt(from)} – ${valueAt(to + 1)}`;
      ends.forEach((end, e) => end.setAttribute("aria-valuetext", valueAt(e ? to + 1 : from)));
    };
    box.append(bars, ...ends);
    return { box, show };
  }

  #groups({ name, groups }, k) {
    const { box } = this.#frame(name);
    const buttons = groups.map((group, code) => {
      const made = button("sv-group", "", () => {
        const chosen = new Set(this.view().chosen.get(k));
        if (!chosen.delete(code)) chosen.add(code);
        this.view().filterBy(k, chosen.size === groups.length ? [] : [...chosen].sort((a, b) => a - b));
      });
      made.append(el("span", "", group, { dir: "auto" }), el("small"));
      return made;
    });
    const show = () => {
      const counts = this.view().countsOf(k), most = Math.max(1, ...counts.all), chosen = this.view().chosen.get(k);
      buttons.forEach((made, code) => {
        made.style.setProperty("--share", counts.passing[code] / most);
        made.lastChild.textContent = counts.passing[code].toLocaleString("en");
        made.setAttribute("aria-pressed", String(Boolean(chosen?.includes(code))));
        made.classList.toggle("sv-out", Boolean(chosen && !chosen.includes(code)));
      });
    };
    box.append(...buttons);
    return { box, show };
  }
}
