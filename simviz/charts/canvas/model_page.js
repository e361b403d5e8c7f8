// A model on a page that was saved: a box that answers while one types, why, and the map.

import { showAlone } from "./alone.js";
import { fromBase64, readPart } from "./decode.js";
import { button, el } from "./dom.js";
import { Model } from "./model.js";

/** Answers that are listed at first, and with "more"; those that lines go to on the map. */
const FEW = 8, MANY = 40, LINED = 10;
const at = (id) => document.getElementById(id);
const { scene, ...sent } = JSON.parse(at("map-state").textContent);
const parts = Object.fromEntries(Object.entries(sent).map(([name, text]) => [name, fromBase64(text)]));

class Page {
  constructor(header, model) {
    Object.assign(this, { model, names: { x: header.names[0], y: header.names[1] }, sides: header.asked, kind: header.kind });
    this.map = showAlone(at("map"), { scene, ...parts }, (rows) => this.#picked(rows));
    this.view = this.map.view;
    this.side = this.sides[0];
    this.item = null;
    this.shown = FEW;
    this.input = at("typed");
    this.input.addEventListener("input", () => {
      this.item = null;
      this.shown = FEW;
      this.answer();
    });
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") at("answers").querySelector("button")?.click();
    });
    for (const radio of document.querySelectorAll("[name=side]")) {
      radio.addEventListener("change", () => {
        this.side = radio.value;
        this.#begin();
      });
    }
    this.#begin();
  }

  get other() {
    return this.side === "x" ? "y" : "x";
  }

  /** The row on the map of an item of a side. */
  joint(side, i) {
    return side === "x" ? i : this.view.split + i;
  }

  /** Nothing is asked: show what could be. */
  #begin() {
    this.item = null;
    this.input.value = "";
    this.input.disabled = !this.sides.includes(this.side);
    this.answer();
  }

  #examples() {
    const found = [];
    for (const i of this.view.order) {
      if ((i < this.view.split ? "x" : "y") !== this.side || found.length > 5) continue;
      const take = () => {
        this.#take(i);
        this.map.select([i]);
      };
      found.push(button("", this.view.textOf(i, 40), take, { dir: "auto" }));
    }
    return found;
  }

  #picked(rows) {
    if (rows.length === 1) this.#take(rows[0]);
    else if (this.item !== null) this.#begin();
  }

  /** Ask by an item. */
  #take(row) {
    const side = row < this.view.split ? "x" : "y";
    this.side = side;
    this.item = side === "x" ? row : row - this.view.split;
    this.shown = FEW;
    const radio = document.querySelector(`[name=side][value=${side}]`);
    if (radio) radio.checked = true;
    const { texts } = this.model.sides[side];
    this.input.disabled = !texts;
    this.input.value = this.view.items.header.texts[row];
    this.answer();
  }

  /** Rank what the other side has, and list it. */
  answer() {
    const { side, item, model } = this, text = this.input.value, list = at("answers");
    at("examples").replaceChildren();
    list.replaceChildren();
    at("more").hidden = true;
    if (item === null && !text.trim()) {
      at("said").textContent = this.sides.includes(side) ? "Or try" : "Choose one on the map.";
      if (this.sides.includes(side)) at("examples").replaceChildren(...this.#examples());
      this.map.ask(null);
      return;
    }
    const scores = item === null ? model.scores(side, text) : model.scoresOf(side, item);
    const order = ranked(scores, this.kind === "terms", MANY);
    const named = this.names[this.other];
    at("said").textContent = order.length && (item !== null || model.knows(side, text))
      ? `Nearest of ${scores.length.toLocaleString("en")} ${named}`
      : `Nothing of this is known to the model, or none of the ${named} has it.`;
    if (item === null) this.map.ask(order.length && model.knows(side, text) ? this.#place(order, scores, text) : null);
    if (item === null && !model.knows(side, text)) return;
    const top = Math.max(scores[order[0]], 1e-9);
    list.replaceChildren(...order.slice(0, this.shown).map((i, k) => this.#row(i, k, scores[i], top)));
    at("more").hidden = order.length <= this.shown;
  }

  /** Where a text stands: in the middle of what is nearest, the nearest weighing most. */
  #place(order, scores, text) {
    const { view } = this, near = order.slice(0, LINED).map((i) => [this.joint(this.other, i), scores[i]]);
    const low = near.at(-1)[1], least = 0.1 * (near[0][1] - low) || 1;
    let x = 0, y = 0, sum = 0, spread = 0;
    for (const [i, score] of near) {
      const weight = score - low + least;
      x += weight * view.xs[i];
      y += weight * view.ys[i];
      sum += weight;
    }
    [x, y] = [x / sum, y / sum];
    for (const [i, score] of near) spread += ((score - low + least) / sum) * ((view.xs[i] - x) ** 2 + (view.ys[i] - y) ** 2);
    const said = text.trim(), short = said.length > 40 ? `${said.slice(0, 39)}…` : said;
    const nearest = near.map(([i, score]) => [i, score, false]);
    return { text: short, x, y, spread: Math.sqrt(spread), nearest, partners: [] };
  }

  #row(i, k, score, top) {
    const { view } = this, row = this.joint(this.other, i), made = el("li");
    const asked = this.item === null ? null : this.joint(this.side, this.item);
    const open = () => {
      const isOpen = made.querySelector(".why");
      for (const why of at("answers").querySelectorAll(".why")) {
        why.previousSibling.setAttribute("aria-expanded", "false");
        why.remove();
      }
      if (isOpen) return;
      line.setAttribute("aria-expanded", "true");
      made.append(this.#why(i));
      view.point(row);
      view.bringIntoView({ x: view.xs[row], y: view.ys[row] });
    };
    const line = button("", "", open, { "aria-expanded": "false" });
    line.append(el("span", "rank", String(k + 1)));
    const { first, count } = view.pictures;
    if (row >= first && row < first + count) {
      line.append(view.pictures.has(row) ? view.pictures.shot(row, 56, view.look.ink) : el("canvas"));
    }
    const words = el("span", "words", view.textOf(row, 160), { dir: "auto" });
    if (asked !== null && this.map.partnersOf(asked).includes(row)) words.append(el("small", "", "its match in the data"));
    const bar = el("span", "bar"), part = this.kind === "cosine" ? score : score / top;
    bar.append(el("i"));
    bar.firstChild.style.width = `${100 * Math.max(0, Math.min(1, part))}%`;
    line.append(words, bar, el("span", "score", score.toFixed(2)));
    view.pointFrom(line, row);
    made.append(line);
    return made;
  }

  /** What adds to the similarity of what is asked and an answer. */
  #why(i) {
    const { model, side, other, item } = this, asked = model.sides[side];
    const box = el("div", "why");
    let from = side, to = i, text = item === null ? this.input.value : asked.texts?.[item], isTurned = false;
    if (text === undefined) [from, to, text, isTurned] = [other, item, model.sides[other].texts?.[i], true];
    if (text === undefined) {
      box.append(el("p", "", "Both are known as vectors alone, which name nothing."));
      return box;
    }
    const { score, pairs, rest, offset } = model.why(from, text, to);
    box.append(el("p", "", `${score.toFixed(2)} is the sum of`));
    const lines = pairs.map(([a, b, value]) => [isTurned && b ? [b, a] : [a, b], value]);
    if (Math.abs(rest) >= 0.005) lines.push([["all other pairs"], rest]);
    if (Math.abs(offset) >= 0.005) lines.push([["the same for all items (means)"], offset]);
    const most = Math.max(...lines.map(([, value]) => Math.abs(value)), 1e-9), table = el("dl");
    for (const [words, value] of lines) {
      const name = el("dt");
      words.filter(Boolean).forEach((word, k) => {
        if (k && words[0] === word) return;
        if (k) name.append(el("span", "", "·"));
        name.append(el("bdi", words.length > 1 ? "" : "note", word));
      });
      const told = el("dd", value < 0 ? "against" : ""), bar = el("i");
      bar.style.width = `${(60 * Math.abs(value)) / most}%`;
      told.append(bar, el("span", "", `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`));
      table.append(name, told);
    }
    box.append(table);
    return box;
  }
}

/** The rows with the highest scores, the first of equal ones first; of shared terms those that have any. */
function ranked(scores, isShared, n) {
  let low = -Infinity;
  if (scores.length > n) low = Float64Array.from(scores).sort().at(-n);
  const rows = [];
  scores.forEach((score, i) => {
    if (score >= low && (!isShared || score > 0)) rows.push(i);
  });
  return rows.sort((a, b) => scores[b] - scores[a] || a - b).slice(0, n);
}

async function open() {
  const packed = fromBase64(at("model-state").textContent);
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const { header, arrays } = readPart(new Uint8Array(await new Response(plain).arrayBuffer()));
  const page = new Page(header, new Model(header, arrays));
  at("more").addEventListener("click", () => {
    page.shown = MANY;
    page.answer();
  });
  globalThis[Symbol.for("simviz.page")] = page;
  page.input.focus({ preventScroll: true });
  document.body.dataset.ready = "true";
}

open();
