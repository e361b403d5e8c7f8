// One map on a page: what it shows, what is done to it, and what it tells the server.

import { bitsToBase64, fromBase64 } from "./decode.js";
import { Finding } from "./finding.js";
import { listen } from "./gestures.js";
import { Labels } from "./labels.js";
import { Layer } from "./layer.js";
import { drawOverlay, isDimmed } from "./overlay.js";
import { Panel } from "./panel.js";

const GLIDE = 650, REST = 220;
/** Where a page keeps its maps, for those who wait until all are done. */
const VIEWS = Symbol.for("simviz.maps");
const CORNERS = 32; // of an outline, at most

export class View extends Finding {
  constructor(root, told, shared) {
    super();
    this.shared = shared;
    this.lists = shared.lists;
    /** Called with what needs no answer: "at" is the camera as three numbers, "set" all else. */
    this.told = told;
    this.layer = new Layer();
    this.lettered = new Labels();
    this.panel = new Panel(root, this);
    this.canvas = this.panel.canvas;
    this.pen = this.canvas.getContext("2d");
    this.tool = "pan";
    this.hovered = this.focused = -1;
    this.matches = this.selected = this.query = this.region = this.drawn = null;
    this.matched = -1;
    this.taken = { boxes: [], items: new Set() };
    this.isMoving = false;
    this.panel.showTool("pan");
    this.stop = listen(this.canvas, this);
    this.sizes = new ResizeObserver(() => this.#resize());
    this.sizes.observe(this.canvas);
    this.frames = 0;
    (globalThis[VIEWS] ??= new Set()).add(this);
  }

  /** What still moves or will change by itself, by name; nothing once the map is at rest. */
  get pending() {
    const { camera, canvas, placing, items, pictures } = this;
    const doing = {
      parts: !placing, size: canvas.clientWidth !== camera.width, frame: this.asked,
      flight: camera.flight, glide: this.glide, move: this.isMoving,
      pictures: items?.header.sheet && !pictures.sheet, pattern: this.finder?.pending,
    };
    return [...Object.keys(doing).filter((name) => doing[name]), ...this.timers.keys()];
  }

  close() {
    this.stop();
    this.sizes.disconnect();
    this.finder?.close();
    this.lettered.clear();
    this.timers.forEach(clearTimeout);
    cancelAnimationFrame(this.asked);
    this.isClosed = true;
    globalThis[VIEWS].delete(this);
  }

  // What the server says

  /** Take over what the page was drawn with. */
  update(component, items, places) {
    this.component = component;
    const { data } = component;
    const before = this.data;
    this.data = data;
    const isNew = this.items !== items;
    if (isNew) this.takeItems(items);
    if (before?.look.name !== data.look.name) this.takeLook(data.look);
    this.takeColours(data, isNew);
    this.hiddenBits = data.hidden ? fromBase64(data.hidden) : null;
    this.halos = data.halos
      ? { false: fromBase64(data.halos.false), missing: fromBase64(data.halos.missing) }
      : null;
    const isMoved = this.places !== places || isNew;
    if (isMoved) this.takePlaces(places, isNew, before);
    this.takeRegions(data.regions);
    const isNamed = JSON.stringify(before?.regions) !== JSON.stringify(data.regions);
    if (isMoved || isNamed || before?.hidden !== data.hidden) this.replace();
    // Where the link says to look; what the reader has moved to since is not taken back.
    if (data.camera.at && (!before || before.camera.n !== data.camera.n)) this.camera.take(data.camera.at);
    this.panel.setModes(data.asked);
    this.#follow(data, before); // first: an outline encloses only what the legend shows
    this.#setSelection(data, before, isMoved);
    this.panel.showLegend();
    this.canvas.setAttribute("aria-label", data.alt);
    for (const name of ["narrow", "scrolls", "cover"]) this.panel.box.classList.toggle(`sv-${name}`, Boolean(data[name]));
    this.panel.box.dataset.n = String(this.xs.length);
    this.layer.isStale = true;
    this.lists.forEach((list) => list.refresh());
    this.draw();
  }

  #setSelection(data, before, isMoved) {
    const isNew = JSON.stringify(before?.selected ?? null) !== JSON.stringify(data.selected ?? null);
    this.selected = data.selected ?? null;
    this.query = data.query ?? null;
    if (isNew || isMoved) this.bringIntoView();
    if (this.selected && isNew) {
      const { item, nearest } = this.selected;
      const near = nearest.slice(0, 3).map(([i]) => this.textOf(i, 40)).join(", ");
      this.panel.say(`${this.textOf(item, 80)} is selected. ${near ? `Nearest: ${near}.` : ""}`);
    }
    this.typed = data.typed ?? null;
    const isAnswer = String(before?.typed) !== String(this.typed) || before.answered !== data.answered;
    if (this.typed && isAnswer) this.#showAnswer();
    this.encloseBy(data.region ? this.camera.fromTold(data.region) : null);
    if (data.rows?.length > 1) this.encloseRows(data.rows);
  }

  #showAnswer() {
    if (this.query) this.bringIntoView();
    this.panel.told(this.query ? "Placed among what the model finds nearest." : "The model cannot answer this query.");
  }

  /** What the link said of the legend and of the search; what the reader set since stays. */
  #follow({ set, typed }, before) {
    if (typed && !before) this.panel.show(typed[1], `model ${typed[0]}`);
    if (!set || before?.set.n === set.n) return;
    this.closed = new Set(set.closed);
    this.takeFilter(set.filter);
    if (set.find && !before) {
      this.panel.show(set.find[1], set.find[0]);
      this.find(set.find[1], set.find[0]);
    }
  }

  // What the reader does

  #emit(name, value) {
    this.component.setStateValue(name, { ...value, n: Date.now() });
  }

  moved() {
    this.isMoving = true;
    this.panel.showCard(-1);
    this.draw();
    this.rest();
  }

  /** When the hand has come to rest, what was put off is done, and the link follows. */
  rest() {
    this.later("resting", REST, () => {
      if (this.camera.flight) {
        this.rest();
        return;
      }
      this.isMoving = false;
      this.draw();
      const told = this.camera.told();
      if (String(told) !== String(this.lastTold)) {
        this.lastTold = told;
        this.told("at", told);
      }
    });
  }

  setTool(tool) {
    this.tool = tool;
    this.panel.showTool(tool);
  }

  zoomTowards(factor, px = this.camera.width / 2, py = this.camera.height / 2) {
    const { camera } = this, x = camera.toMapX(px), y = camera.toMapY(py);
    camera.flyTo(x + (camera.x - x) / factor, y + (camera.y - y) / factor, camera.zoom * factor, performance.now(), 220);
    this.moved();
  }

  home() {
    this.camera.flyHome(performance.now());
    this.moved();
  }

  pointAt(px, py) {
    if (!this.grid || this.glide) return;
    const i = px === null ? -1 : this.itemAt(px, py);
    this.canvas.classList.toggle("sv-over", i >= 0);
    this.point(i);
    this.panel.showCard(i);
  }

  point(i) {
    if (i === this.hovered) return;
    this.hovered = i;
    this.lists.forEach((list) => list.mark(i));
    this.draw();
  }

  /** Point at an item while an element is pointed at. */
  pointFrom(element, i) {
    element.addEventListener("pointerenter", () => this.point(i));
    element.addEventListener("pointerleave", () => this.point(-1));
  }

  /** What the model finds nearest to an item, as far as it was sent. */
  nearestOf(i) {
    const { digest } = this.places.header;
    const nearest = [...this.shared.parts.values()].find(({ header }) => header.places === digest);
    if (!nearest) return [];
    const { k } = nearest.header;
    return [...nearest.arrays.nearest.subarray(i * k, (i + 1) * k)].filter((j) => j !== i);
  }

  click(px, py) {
    if (!this.grid || this.glide) return;
    const i = this.itemAt(px, py);
    if (i >= 0) this.pick(i);
    else if (this.selected || this.query || this.typed || this.matches || this.enclosed) this.letGo();
  }

  pick(i) {
    this.pickKey(this.keyOf(i), i);
  }

  /** Select an item of the data set, on the drawing or not. */
  pickKey(key, i) {
    // Shown at once; the neighbours follow when the server has answered.
    this.selected = i < 0 ? null : { item: i, nearest: [], partners: [] };
    this.query = this.typed = this.trace = null;
    this.panel.showCard(-1);
    this.draw();
    this.#emit("picked", { key });
  }

  /** Nothing is selected, found or enclosed any more. */
  letGo(isQuiet = false) {
    const isTold = this.selected || this.query || this.typed || this.enclosed;
    this.selected = this.query = this.typed = this.region = this.enclosed = this.matches = this.turn = this.trace = null;
    this.layer.isStale = true;
    this.hovered = this.focused = this.matched = -1;
    this.panel.input.value = "";
    this.panel.told("");
    this.panel.showMatches([], -1);
    if (isQuiet) return;
    this.tellSet();
    if (isTold) this.#emit("picked", { key: null });
    this.draw();
  }

  toggle(key) {
    if (!this.closed.delete(key)) this.closed.add(key);
    this.panel.showLegend();
    this.filter();
    this.tellSet();
  }

  draft(points) {
    this.drawn = points;
    this.draw();
  }

  enclose(drawn) {
    // As few corners as the link can hold, and as exact: it encloses the same.
    const corners = this.camera.toldCorners(drawn, CORNERS);
    const rows = this.encloseBy(this.camera.fromTold(corners));
    this.panel.say(`${rows.length} items are enclosed.`);
    this.#emit("region", {
      rows: rows.length ? bitsToBase64(rows, this.xs.length) : null, corners: rows.length ? corners : null,
    });
    this.draw();
  }

  ask(text, side) {
    const asked = text.trim().slice(0, 2000);
    if (!asked) return;
    this.matches = null;
    this.panel.showMatches([], -1);
    this.panel.told("Asking the model…");
    this.#emit("asked", { text: asked, side });
  }

  // Keyboard

  /** Go to the nearest item in a direction. */
  step(dx, dy) {
    if (!this.grid) return;
    const { camera, grid } = this;
    const from = this.focused >= 0 ? this.focused : this.selected?.item ?? -1;
    if (from < 0) {
      this.focus(grid.nearest(camera.x, camera.y, 1e9, (i) => !this.isHidden(i)));
      return;
    }
    let best = -1, least = Infinity;
    for (let i = 0; i < grid.xs.length; i++) {
      if (i === from || this.isHidden(i)) continue;
      const x = grid.xs[i] - grid.xs[from], y = grid.ys[from] - grid.ys[i];
      const along = x * dx + y * dy, aside = Math.abs(x * dy) + Math.abs(y * dx);
      if (along > 0 && along >= aside && along + 1.5 * aside < least) {
        least = along + 1.5 * aside;
        best = i;
      }
    }
    if (best >= 0) this.focus(best);
  }

  focus(i) {
    if (i < 0) return;
    this.focused = i;
    this.bringIntoView({ x: this.xs[i], y: this.ys[i] });
    this.panel.say(`${this.textOf(i, 120)}, ${this.kindOf(i)}`);
    this.panel.showCard(i);
    this.draw();
  }

  unfocus() {
    this.focused = -1;
    this.panel.showCard(-1);
    this.draw();
  }

  /** Select the item that has the focus; else the one nearest to the middle of the window. */
  pickFocused() {
    if (this.focused < 0) this.step(0, 0);
    if (this.focused >= 0) this.pick(this.focused);
  }

  // Drawing

  #resize() {
    const { clientWidth, clientHeight } = this.canvas;
    if (!clientWidth || !clientHeight) return;
    const { camera } = this, place = this.grid && this.chosenPlace;
    // What a link selects was told before there was a window to bring it into.
    const wasSeen = camera.width <= 1 || (place && camera.sees(place));
    Object.assign(camera, { width: clientWidth, height: clientHeight });
    // The panel of a selection makes the map narrower.
    if (wasSeen && place) this.bringIntoView(place);
    if (this.placing) {
      const [w, h] = this.placedFor;
      if (Math.abs(w / clientWidth - 1) + Math.abs(h / clientHeight - 1) > 0.04) this.replace();
    }
    this.layer.isStale = true;
    this.panel.measure();
    this.panel.showCard(-1);
    this.paint();
  }

  draw() {
    if (!this.asked && !this.isClosed) this.asked = requestAnimationFrame((now) => this.paint(now));
  }

  /** Put all that is shown on the canvas. */
  paint(now = performance.now()) {
    cancelAnimationFrame(this.asked);
    this.asked = 0;
    if (!this.placing || this.isClosed) return;
    const { camera, canvas, pen, layer } = this;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(camera.width * ratio), height = Math.round(camera.height * ratio);
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    const isFlying = camera.step(now);
    const isGliding = this.#glideOn(now);
    if (layer.isNeeded(camera, ratio, this.isMoving || isFlying)) layer.render(this, ratio);
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.globalAlpha = isDimmed(this) ? this.look.dim : 1;
    const k = camera.scale / layer.scale;
    pen.imageSmoothingEnabled = k !== 1;
    const left = (camera.width / 2 - (layer.width / 2 + layer.offsetX) * k + (layer.x - camera.x) * camera.scale) * ratio;
    const top = (camera.height / 2 - (layer.height / 2 + layer.offsetY) * k + (camera.y - layer.y) * camera.scale) * ratio;
    if (k === 1) pen.drawImage(layer.canvas, Math.round(left), Math.round(top));
    else pen.drawImage(layer.canvas, left, top, layer.canvas.width * k, layer.canvas.height * k);
    this.lettered.draw(pen, this, ratio, isDimmed(this) ? this.look.dim : 1);
    pen.imageSmoothingEnabled = true;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const taken = drawOverlay(pen, this);
    // The labels below give way in the next frame.
    const isTaken = String(taken.boxes) !== String(this.taken.boxes);
    this.taken = taken;
    this.frames++;
    if (isFlying || isGliding || isTaken) this.draw();
  }

  /** The next step of items on their way to new places. */
  #glideOn(now) {
    const { glide } = this;
    if (!glide) return false;
    const done = Math.min(1, Math.max(0, (now - glide.start) / GLIDE));
    const eased = done * done * (3 - 2 * done);
    for (let i = 0; i < this.xs.length; i++) {
      this.xs[i] = glide.fromX[i] + eased * (glide.xs[i] - glide.fromX[i]);
      this.ys[i] = glide.fromY[i] + eased * (glide.ys[i] - glide.fromY[i]);
    }
    this.layer.isStale = true;
    if (done === 1) {
      this.xs = glide.xs;
      this.ys = glide.ys;
      this.glide = null;
    }
    return true;
  }
}
