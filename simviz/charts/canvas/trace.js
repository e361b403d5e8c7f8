// What marks, or another model, moved: thin lines from where items were to where they are, below all else.

/** Lines at most, and the share of the extent of the map from which on an item has moved clearly. */
const MAX_TRACED = 100, CLEAR = 0.03;

/** What lines mean, for the legend; nothing where there are none. */
export function traceEntries({ trace, look }) {
  return trace?.length ? [{ name: "moved, from where it was", shape: "line", colour: look.ink }] : [];
}

/** Whether nothing but the marks of a reader, or a turn to the other of two models, made places new. */
export function isByMarks(before, { marks }) {
  return Boolean(before?.marks && marks) && before.marks[0] === marks[0] && String(before.marks) !== String(marks);
}

/** The items that moved most, the farthest first, each with where it was. */
export function traced(old, { xs, ys, left, right, low, high }) {
  const least = CLEAR * Math.max(right - left, high - low);
  const apart = xs.map((x, i) => Math.hypot(x - old.xs[i], ys[i] - old.ys[i]));
  const moved = [...apart.keys()].filter((i) => apart[i] > least).sort((i, j) => apart[j] - apart[i]);
  // Where most of them moved, lines through all the map would tell nothing.
  return 2 * moved.length > xs.length ? [] : moved.slice(0, MAX_TRACED).map((i) => [i, old.xs[i], old.ys[i]]);
}

export function drawLine(pen, x0, y0, x1, y1) {
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}

/** Draw them to where the items stand now, on their way or there. */
export function drawTrace(pen, view) {
  const { camera } = view;
  pen.globalCompositeOperation = "destination-over";
  pen.globalAlpha = 0.4;
  pen.lineWidth = 1;
  for (const [i, x, y] of view.trace) {
    if (view.isHidden(i)) continue;
    pen.strokeStyle = view.colours[view.groups[i]];
    drawLine(pen, camera.toScreenX(x), camera.toScreenY(y), camera.toScreenX(view.xs[i]), camera.toScreenY(view.ys[i]));
  }
  pen.globalAlpha = 1;
  pen.globalCompositeOperation = "source-over";
}
