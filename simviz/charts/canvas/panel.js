// The controls that lie on the map: search, tools, legend, and the card of what is pointed at.

import { ICONS, button, el, icon } from "./dom.js";
import { traceEntries } from "./trace.js";

const TOOLS = [
  ["pan", "Move the map (drag)"],
  ["lasso", "Select items by drawing around them"],
  ["box", "Select items in a box (Shift and drag)"],
];
const LISTED = 7;
/** Milliseconds without a key before what is typed is looked for. */
const TYPING = 90;

export class Panel {
  constructor(root, view) {
    this.view = view;
    this.root = root;
    this.box = el("div", "sv-map");
    this.canvas = el("canvas", "sv-canvas", "", { tabindex: "0", role: "application", "aria-describedby": "sv-keys" });
    this.card = el("div", "sv-card");
    this.card.hidden = true;
    this.live = el("div", "sv-unseen", "", { "aria-live": "polite", role: "status" });
    this.keys = el("p", "sv-unseen", "Arrow keys go from item to item, Enter selects, Escape clears the selection. " +
      "Shift and an arrow key move the map, plus and minus zoom, 0 shows all, slash searches.", { id: "sv-keys" });
    this.legend = el("div", "sv-legend");
    this.stage = el("div", "sv-stage");
    this.find = this.#makeFind();
    this.toolbar = this.#makeTools();
    this.covered = [];
    this.stage.append(this.canvas, this.find, this.toolbar, this.card, this.live, this.keys);
    this.box.append(this.stage, this.legend);
    root.append(this.box);
  }

  say(text) {
    this.live.textContent = text;
  }

  /** Parts of the map that its controls cover, in pixels: left, top, right, bottom. */
  measure() {
    const corner = this.canvas.getBoundingClientRect();
    this.covered = [this.find, ...this.toolbar.children].map((part) => {
      const box = part.getBoundingClientRect();
      return [box.left - corner.left, box.top - corner.top, box.right - corner.left, box.bottom - corner.top];
    });
  }

  // Search

  #makeFind() {
    const box = el("div", "sv-find");
    const row = el("div", "sv-find-row");
    this.input = el("input", "", "", {
      type: "search", placeholder: "Find", "aria-label": "Find items on the map", maxlength: "200",
      autocomplete: "off", spellcheck: "false",
    });
    this.mode = el("select", "", "", { "aria-label": "How to find" });
    row.append(icon(ICONS.find), this.input, this.mode);
    this.said = el("div", "sv-find-said");
    this.list = el("ul", "sv-find-list");
    box.append(row, this.said, this.list);
    const look = () => this.view.find(this.input.value, this.mode.value);
    this.input.addEventListener("input", () => {
      this.view.cancel("typing");
      if (this.mode.value.startsWith("model")) this.told("Press Enter to ask the model.");
      else this.view.later("typing", TYPING, look);
    });
    this.input.addEventListener("search", () => {
      if (!this.input.value) look();
    });
    this.mode.addEventListener("change", () => {
      this.view.find("", "text");
      look();
      this.input.focus();
    });
    this.input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") {
        this.view.cancel("typing");
        if (this.mode.value.startsWith("model")) this.view.ask(this.input.value, this.mode.value.slice(6));
        else this.view.nextMatch(event.shiftKey ? -1 : 1, this.input.value, this.mode.value);
      } else if (event.key === "Escape") {
        this.input.value = "";
        look();
        this.canvas.focus({ preventScroll: true });
      }
    });
    return box;
  }

  /** Offer the ways to search: by text, by pattern, and by model where a side has words. */
  setModes(asked) {
    const key = JSON.stringify(asked);
    if (key === this.asked) return;
    this.asked = key;
    const kept = this.mode.value;
    this.mode.replaceChildren();
    const ways = [["text", "text"], ["pattern", "pattern"]];
    for (const { side, name } of asked) {
      ways.push([`model ${side}`, asked.length > 1 ? `model: ${name}` : "model"]);
    }
    for (const [value, text] of ways) this.mode.append(el("option", "", text, { value }));
    if (ways.some(([value]) => value === kept)) this.mode.value = kept;
  }

  /** Put into the box what a link brought. */
  show(text, way) {
    this.input.value = text;
    if ([...this.mode.options].some((option) => option.value === way)) this.mode.value = way;
  }

  focusSearch() {
    this.input.focus();
    this.input.select();
  }

  told(text) {
    this.said.textContent = text;
    this.measure();
  }

  /** List what was found, each to be selected. */
  showMatches(rows, current) {
    const { view } = this;
    this.list.replaceChildren();
    for (const i of rows.slice(0, LISTED)) {
      const entry = el("li");
      const made = button(i === current ? "sv-now" : "", "", () => view.pick(i), { dir: "auto" });
      made.append(el("bdi", "", view.textOf(i, 60)), el("span", "", view.names[view.sideOf(i)]));
      view.pointFrom(made, i);
      entry.append(made);
      this.list.append(entry);
    }
    this.measure();
  }

  // Tools

  #makeTools() {
    const box = el("div", "sv-tools", "", { role: "toolbar", "aria-label": "Tools of the map" });
    const zoom = el("div"), tools = el("div");
    const tool = (name, title, act) => {
      const made = button("", "", act, { title, "aria-label": title });
      made.append(icon(ICONS[name]));
      return made;
    };
    zoom.append(
      tool("plus", "Zoom in (+)", () => this.view.zoomTowards(1.6)),
      tool("minus", "Zoom out (−)", () => this.view.zoomTowards(1 / 1.6)),
      tool("whole", "Show the whole map (0)", () => this.view.home()),
    );
    this.tools = new Map(TOOLS.map(([name, title]) => [name, tool(name, title, () => this.view.setTool(name))]));
    tools.append(...this.tools.values());
    box.append(zoom, tools);
    return box;
  }

  showTool(tool) {
    for (const [name, made] of this.tools) made.setAttribute("aria-pressed", String(name === tool));
    this.canvas.classList.toggle("sv-drawing", tool !== "pan");
  }

  // Legend

  /** Say what colours, shapes and marks mean; entries hide what they stand for when pressed. */
  showLegend() {
    const entries = [...this.view.data.legend, ...traceEntries(this.view)], hidden = this.view.closed;
    const key = JSON.stringify([entries, [...hidden]]);
    if (key === this.legendKey) return;
    this.legendKey = key;
    this.legend.replaceChildren();
    for (const entry of entries) {
      if (entry.scale) {
        this.legend.append(this.#scale(entry));
        continue;
      }
      const made = entry.key === undefined ? el("span", "sv-entry sv-note")
        : button("sv-entry", "", () => this.view.toggle(entry.key), {
          "aria-pressed": String(!hidden.has(entry.key)), title: "Press to hide or show",
        });
      const mark = el("i", `sv-${entry.shape}`);
      mark.style.setProperty("--colour", entry.colour);
      made.append(mark, el("span", "", entry.name, { dir: "auto" }));
      if (entry.count !== undefined) made.append(el("small", "", entry.count.toLocaleString("en")));
      this.legend.append(made);
    }
  }

  #scale({ name, scale, low, high }) {
    const made = el("span", "sv-entry sv-note");
    const bar = el("i", "sv-scale");
    bar.style.background = `linear-gradient(to right, ${scale.join(", ")})`;
    made.append(el("span", "", name), el("small", "", low), bar, el("small", "", high));
    return made;
  }

  // Card

  /** Show what is pointed at, beside it and within the window, and never over it. */
  showCard(i) {
    if (i < 0) {
      this.card.hidden = true;
      return;
    }
    const { view, card } = this;
    if (this.carded !== i || card.hidden) {
      this.carded = i;
      card.replaceChildren();
      if (view.pictures.has(i)) {
        card.append(view.pictures.shot(i, 112, view.look.ink, "sv-shot"));
      }
      const words = el("div", "sv-words");
      words.append(el("b", "", view.textOf(i, 220), { dir: "auto" }));
      words.append(el("span", "", view.kindOf(i)));
      for (const [name, value] of view.factsOf(i)) {
        const line = el("span", "", `${name}: `);
        line.append(el("em", "", value, { dir: "auto" }));
        words.append(line);
      }
      card.append(words);
      card.hidden = false;
    }
    const { width, height } = view.camera;
    const w = card.offsetWidth, h = card.offsetHeight;
    const [x0, y0, x1, y1] = view.boxOf(i), gap = 12;
    const along = (middle, size, most) => Math.max(4, Math.min(most - size - 4, middle - size / 2));
    const isBeside = x1 + gap + w <= width || x0 - gap - w >= 0;
    const left = !isBeside ? along((x0 + x1) / 2, w, width) : x1 + gap + w <= width ? x1 + gap : x0 - gap - w;
    const top = isBeside ? along((y0 + y1) / 2, h, height) : y1 + gap + h <= height ? y1 + gap : y0 - gap - h;
    card.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }
}
