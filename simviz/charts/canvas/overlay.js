// What is drawn over the map: the selection and its lines, what was found, what is pointed at.

import { inside } from "./labels.js";
import { Layer } from "./layer.js";
import { MODES } from "./placing.js";
import { drawLine, drawTrace } from "./trace.js";
import { WORD_FONT, write } from "./writing.js";

const MAX_NAMED = 400;
/** How far from its place an item may be shown, in rings of 24 pixels. */
const RINGS = 7;

/** Boxes taken in this frame, and by which items; a list is enough for so few. */
class Taken {
  constructor(covered = []) {
    this.boxes = covered.map(([left, top, right, bottom]) =>
      [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top]);
    this.items = new Set();
  }

  isFree(x, y, width, height) {
    return this.boxes.every(([a, b, w, h]) =>
      Math.abs(x - a) >= (width + w) / 2 || Math.abs(y - b) >= (height + h) / 2);
  }

  claim(x, y, width, height) {
    if (!this.isFree(x, y, width, height)) return false;
    this.boxes.push([x, y, width, height]);
    return true;
  }
}

/** Whether the map behind steps back. */
export function isDimmed(view) {
  return Boolean(view.selected || view.query || view.matches);
}

/** Draw it; answers with the boxes that words and pictures took, as middles and sizes, and whose. */
export function drawOverlay(pen, view) {
  const { covered } = view.panel, taken = new Taken(covered);
  const { selected, query } = view;
  if (view.trace) drawTrace(pen, view);
  /** Where neighbours were drawn whose own place others have taken. */
  view.putAside = new Map();
  const found = view.matches ?? (selected ? null : view.data.rows);
  if (found && view.matched < 0) drawMatches(pen, view, found, taken);
  if (selected) {
    drawLines(pen, view, view.xs[selected.item], view.ys[selected.item], selected);
    drawItem(pen, view, selected.item, taken, { isStrong: true, ring: view.look.ink });
    drawNeighbours(pen, view, selected, view.xs[selected.item], view.ys[selected.item], taken);
    // Above the dots of what is nearest.
    drawItem(pen, view, selected.item, new Taken(), { isStrong: true, ring: view.look.ink });
  }
  if (query) {
    drawLines(pen, view, query.x, query.y, query);
    drawQuery(pen, view, query, taken);
    drawNeighbours(pen, view, query, query.x, query.y, taken);
  }
  if (view.region) drawOutline(pen, view, view.region, true);
  if (view.drawn) drawOutline(pen, view, view.drawn, false);
  for (const i of [view.focused, view.hovered]) if (i >= 0 && i !== selected?.item) drawPointed(pen, view, i);
  return { boxes: taken.boxes.slice(covered.length), items: taken.items };
}

/** What is pointed at, with what the model finds nearest to it. */
function drawPointed(pen, view, i) {
  // Where it was put aside, it is pointed at there.
  const place = view.putAside.get(i) ?? null, nearest = place ? [] : view.nearestOf(i), taken = new Taken();
  drawLines(pen, view, view.xs[i], view.ys[i], { nearest: nearest.map((j) => [j, 0, false]), partners: [] });
  const look = { ring: view.look.accent, place, isStrong: true, isOnTop: true };
  drawItem(pen, view, i, taken, look);
  for (const j of nearest) drawItem(pen, view, j, taken, { mustFit: true, ring: view.look.muted, isOnTop: true });
  drawItem(pen, view, i, new Taken(), look);
}

function drawLines(pen, view, fromX, fromY, { nearest, partners }) {
  const { camera, look } = view;
  const x0 = camera.toScreenX(fromX), y0 = camera.toScreenY(fromY);
  const line = (i) => drawLine(pen, x0, y0, camera.toScreenX(view.xs[i]), camera.toScreenY(view.ys[i]));
  const near = new Set(nearest.map(([i]) => i));
  pen.setLineDash([2, 4]);
  pen.lineWidth = 1.2;
  pen.strokeStyle = look.right;
  pen.globalAlpha = 0.7;
  for (const i of partners) if (!near.has(i)) line(i);
  pen.setLineDash([]);
  nearest.forEach(([i, , belongs], rank) => {
    pen.strokeStyle = belongs ? look.right : look.ink;
    pen.lineWidth = belongs ? 2 : 1.1;
    pen.globalAlpha = belongs ? 0.9 : 0.55 - 0.03 * Math.min(rank, 10);
    line(i);
  });
  pen.globalAlpha = 1;
}

function drawNeighbours(pen, view, { nearest, partners }, fromX, fromY, taken) {
  const near = new Set(nearest.map(([i]) => i));
  const from = [view.camera.toScreenX(fromX), view.camera.toScreenY(fromY)];
  const aside = (i, note, ring) => {
    const place = besideOthers(pen, view, i, note, from, taken);
    if (!place) return null;
    const x = view.camera.toScreenX(view.xs[i]), y = view.camera.toScreenY(view.ys[i]);
    pen.lineWidth = 1;
    pen.strokeStyle = ring ?? view.look.muted;
    drawLine(pen, x, y, ...place);
    if (taken.isFree(x, y, 8, 8)) drawDot(pen, view, i, x, y, null);
    return place;
  };
  for (const [i, score, belongs] of nearest) {
    const note = score?.toFixed(2) ?? "", ring = belongs ? view.look.right : null;
    const place = atBorder(view, i, from) ?? aside(i, note, ring);
    if (place) view.putAside.set(i, place);
    drawItem(pen, view, i, taken, { ring, note, isStrong: true, place, mustFit: true });
  }
  for (const i of partners.slice(0, 40)) {
    if (near.has(i)) continue;
    const ring = view.look.right;
    drawItem(pen, view, i, taken, { ring, place: aside(i, "", ring) });
  }
}

/** A free spot near an item whose own place others have taken, for its picture or its word; else null. */
function besideOthers(pen, { camera, labels, pictures, placing, xs, ys }, i, note, [x0, y0], taken) {
  const x = camera.toScreenX(xs[i]), y = camera.toScreenY(ys[i]), mode = placing.modes[i];
  let width = Math.max(34, placing.pictureSize(camera.zoom)) + 8, height = width + 16;
  if (mode === MODES.word || mode === MODES.text) {
    pen.font = WORD_FONT.replace("500", "650");
    [width, height] = [pen.measureText(`${labels[i]} ${note}`).width + 24, 22];
  } else if (mode !== MODES.picture || !pictures.has(i)) return null;
  // A text stands beside its dot: it stays while the dot is seen.
  const own = mode === MODES.text ? [8, 8] : [width, height];
  if (x < 0 || y < 0 || x > camera.width || y > camera.height || taken.isFree(x, y, ...own)) return null;
  const away = Math.atan2(y - y0, x - x0);
  for (let ring = 1; ring <= RINGS; ring++) {
    for (let k = 0; k < 16; k++) {
      const angle = away + (k % 2 ? 1 : -1) * Math.ceil(k / 2) * (Math.PI / 8);
      const px = x + (width / 2 + 24 * ring) * Math.cos(angle), py = y + (height / 2 + 24 * ring) * Math.sin(angle);
      const isSeen = px > width / 2 && py > height / 2 && px < camera.width - width / 2 && py < camera.height - height / 2;
      if (isSeen && taken.isFree(px, py, width, height)) return [px, py];
    }
  }
  return null;
}

/** Where the line to an item leaves the window, so that it is named there; null if it does not. */
function atBorder({ camera, xs, ys }, i, [x0, y0]) {
  const x = camera.toScreenX(xs[i]), y = camera.toScreenY(ys[i]);
  const left = 58, right = camera.width - 92, top = 58, low = camera.height - 26;
  if (x >= 0 && x <= camera.width && y >= 0 && y <= camera.height) return null;
  if (x0 < left || x0 > right || y0 < top || y0 > low) return null;
  const share = Math.min(
    1,
    x > x0 ? (right - x0) / (x - x0) : (left - x0) / (x - x0 || -1),
    y > y0 ? (low - y0) / (y - y0) : (top - y0) / (y - y0 || -1),
  );
  return [x0 + share * (x - x0), y0 + share * (y - y0)];
}

/** One item as it is known best: its picture, its words, else its dot. */
function drawItem(pen, view, i, taken, { ring = null, note = "", isStrong = false, place = null, mustFit = false, isOnTop = false } = {}) {
  const { camera, look, placing, pictures } = view;
  taken.items.add(i);
  const [x, y] = place ?? [camera.toScreenX(view.xs[i]), camera.toScreenY(view.ys[i])];
  const isSeen = x >= 0 && y >= 0 && x <= camera.width && y <= camera.height;
  // Whole, as far as what it names is in the window at all.
  const whole = (width, height) => (isSeen ? inside(camera, x, y, width, height) : [x, y]);
  const colour = view.colours[view.groups[i]];
  const mode = placing.modes[i];
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  pen.font = isStrong ? WORD_FONT.replace("500", "650") : WORD_FONT;
  if (mode === MODES.picture && pictures.has(i)) {
    const size = Math.max(isStrong ? 34 : 28, placing.pictureSize(camera.zoom));
    const [mx, my] = whole(size + 8, size + 8);
    if (taken.claim(mx, my, size, size) || !mustFit) {
      drawPlate(pen, mx, my, size + 8, size + 8, 7, look.paper, ring ?? look.faint, ring ? 1.8 : 1);
      pictures.draw(pen, i, mx - size / 2, my - size / 2, size, colour);
      // Below it, else above, where the window ends.
      const low = my + size / 2 + 12, at = low + 8 > camera.height ? my - size / 2 - 12 : low;
      if (note && taken.claim(mx, at, 26, 12)) {
        pen.textAlign = "center";
        pen.font = WORD_FONT.replace(/[\d.]+px/, "10.5px");
        write(pen, note, mx, at, look.soft, look.paper);
      }
      return;
    }
  }
  const text = view.labels[i] + (note ? ` ${note}` : "");
  const width = pen.measureText(text).width;
  const [wx, wy] = whole(width + (ring ? 16 : 4), 22);
  if (mode === MODES.word && (taken.claim(wx, wy, width + 10, 18) || !mustFit)) {
    if (ring) drawPlate(pen, wx, wy, width + 14, 22, 6, look.paper, ring, 1.4);
    pen.textAlign = "center";
    write(pen, text, wx, wy, colour, look.paper, ring ? 0 : 3);
    return;
  }
  if (!place) drawDot(pen, view, i, x, y, ring);
  if (mode !== MODES.text) return;
  const turn = x + width + 14 > camera.width && x > width + 14 ? -1 : 1;
  const beside = x + turn * (width / 2 + 9);
  let [tx, ty] = place ? [wx, wy] : isSeen ? inside(camera, beside, y, width, 17) : [beside, y];
  // Where neither side has room, above the dot rather than over it.
  if (!place && tx !== beside) ty = Math.max(12, y - 17);
  if (taken.claim(tx, ty, width + 14, 17)) {
    pen.textAlign = "center";
    // What else is written there is covered, not written over.
    if (isOnTop) drawPlate(pen, tx, ty, width + 10, 20, 5, look.paper, ring ?? look.faint, 1);
    write(pen, text, tx, ty, look.ink, look.paper, isOnTop ? 0 : 4);
  }
}

/** A box with round corners around a place, on which something is read. */
function drawPlate(pen, x, y, width, height, round, paper, border, wide) {
  pen.fillStyle = paper;
  pen.strokeStyle = border;
  pen.lineWidth = wide;
  pen.beginPath();
  pen.roundRect(x - width / 2, y - height / 2, width, height, round);
  pen.fill();
  pen.stroke();
}

/** A dot of the overlay, or one that stands back as those of the map do. */
export function drawDot(pen, view, i, x, y, ring, isQuiet = false) {
  const radius = Layer.dotRadius(view.xs.length, view.camera.zoom) + (isQuiet ? 0 : 1);
  pen.fillStyle = (isQuiet ? view.dotColours : view.colours)[view.groups[i]];
  pen.strokeStyle = ring ?? view.look.paper;
  pen.lineWidth = 1.6;
  pen.beginPath();
  if (i < view.split) {
    pen.arc(x, y, radius, 0, 7);
  } else {
    const reach = 1.3 * radius;
    for (const [across, down] of [[0, -1], [1, 0], [0, 1], [-1, 0]]) pen.lineTo(x + across * reach, y + down * reach);
    pen.closePath();
  }
  pen.stroke();
  pen.fill();
}

function drawMatches(pen, view, found, taken) {
  const { camera } = view;
  let named = 0;
  for (const i of found) {
    if (view.isHidden(i)) continue;
    const x = camera.toScreenX(view.xs[i]), y = camera.toScreenY(view.ys[i]);
    if (x < 0 || y < 0 || x > camera.width || y > camera.height) continue;
    if (named < MAX_NAMED) {
      const isLookedAt = i === view.matched;
      drawItem(pen, view, i, taken, {
        isStrong: isLookedAt, ring: isLookedAt ? view.look.ink : null, mustFit: !isLookedAt,
      });
      named++;
    } else {
      drawDot(pen, view, i, x, y, null);
    }
  }
}

/** A query that no item is: a cross, and how far apart those lie that it was put among. */
function drawQuery(pen, view, query, taken) {
  const { camera, look } = view;
  const x = camera.toScreenX(query.x), y = camera.toScreenY(query.y);
  pen.strokeStyle = look.muted;
  pen.lineWidth = 1;
  pen.setLineDash([3, 4]);
  pen.beginPath();
  pen.arc(x, y, Math.max(10, query.spread * camera.scale), 0, 7);
  pen.stroke();
  pen.setLineDash([]);
  pen.font = WORD_FONT.replace("500", "650");
  const width = pen.measureText(query.text).width;
  const isSeen = x >= 0 && y >= 0 && x <= camera.width && y <= camera.height;
  const [wx, wy] = isSeen ? inside(camera, x, y, width + 16, 24) : [x, y];
  taken.claim(wx, wy, width + 16, 24);
  drawPlate(pen, wx, wy, width + 16, 24, 6, look.ink, look.ink, 0.1);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillStyle = look.paper;
  pen.fillText(query.text, wx, wy + 0.5);
}

function drawOutline(pen, view, outline, isDone) {
  const { camera, look } = view;
  if (outline.length < 2) return;
  pen.beginPath();
  for (const [x, y] of outline) pen.lineTo(camera.toScreenX(x), camera.toScreenY(y));
  pen.closePath();
  pen.globalAlpha = isDone ? 0.06 : 0.1;
  pen.fillStyle = look.ink;
  pen.fill();
  pen.globalAlpha = 1;
  pen.setLineDash(isDone ? [5, 4] : []);
  pen.strokeStyle = look.ink;
  pen.lineWidth = 1.2;
  pen.stroke();
  pen.setLineDash([]);
}
