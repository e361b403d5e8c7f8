// Hands and keys: drag, wheel, pinch, lasso, box, keyboard.

const STEP = 70;
/** How far a pointer may stray in a click, in pixels: a finger is never quite still. */
const STRAY = { touch: 12, pen: 8, mouse: 5 };

/** Connect a canvas with what its view can do; answers with how to let go. */
export function listen(canvas, view) {
  const pointers = new Map();
  let moved = 0, from = null, outline = null, pinch = null, wereMany = false;
  const isClick = (event) => moved <= (STRAY[event.pointerType] ?? STRAY.mouse);
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  /** Where the first two of several fingers are: their middle, and how far apart. */
  const spread = () => {
    const [[ax, ay], [bx, by]] = pointers.values();
    return { x: (ax + bx) / 2, y: (ay + by) / 2, apart: Math.hypot(ax - bx, ay - by) };
  };

  const down = (event) => {
    if (event.button) return;
    canvas.classList.remove("sv-keyed");
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, at(event));
    moved = 0;
    from = at(event);
    wereMany = pointers.size > 1;
    const tool = view.data.scrolls ? "pan" : event.shiftKey ? "box" : view.tool;
    if (pointers.size === 1 && tool !== "pan") {
      outline = { tool, points: [[view.camera.toMapX(from[0]), view.camera.toMapY(from[1])]] };
    } else if (wereMany) {
      pinch = spread();
      outline = null;
      view.draft(null);
    }
  };

  const move = (event) => {
    const [px, py] = at(event);
    const before = pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== "touch") view.pointAt(px, py);
      return;
    }
    pointers.set(event.pointerId, [px, py]);
    moved += Math.abs(px - before[0]) + Math.abs(py - before[1]);
    if (pointers.size > 1) {
      const now = spread();
      if (pinch) {
        view.camera.panBy(now.x - pinch.x, now.y - pinch.y);
        view.camera.zoomBy(now.apart / Math.max(pinch.apart, 1), now.x, now.y);
        view.moved();
      }
      pinch = now;
    } else if (outline) {
      const place = [view.camera.toMapX(px), view.camera.toMapY(py)];
      if (outline.tool === "box") {
        const [x, y] = outline.points[0];
        outline.points = [[x, y], [place[0], y], place, [x, place[1]]];
      } else {
        outline.points.push(place);
      }
      view.draft(outline.points);
    } else if (!isClick(event)) {
      view.camera.panBy(px - before[0], py - before[1]);
      view.moved();
    }
  };

  const up = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    if (outline) {
      const { points } = outline;
      outline = null;
      view.draft(null);
      if (!isClick(event) && points.length > 2) {
        view.enclose(points);
        return;
      }
    }
    // What was aimed at is where the finger came down; the last of several has not clicked.
    if (isClick(event) && event.type === "pointerup" && !wereMany) view.click(...from);
    pinch = null;
    if (!pointers.size) view.rest();
  };

  const wheel = (event) => {
    // Of a map among other things, the wheel moves the page; without a server, until it is clicked on.
    const isPassedBy = view.data.isAlone ? !canvas.matches(":focus") : view.data.scrolls;
    if (isPassedBy && !event.ctrlKey) return;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 24 : 1;
    const speed = event.ctrlKey ? 0.01 : 0.0016;
    view.camera.zoomBy(Math.exp(-event.deltaY * unit * speed), ...at(event));
    view.moved();
  };

  const twice = (event) => {
    view.zoomTowards(event.shiftKey ? 0.5 : 2, ...at(event));
  };

  const leave = () => view.pointAt(null);

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const key = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    canvas.classList.add("sv-keyed");
    const arrow = ARROWS[event.key];
    if (arrow && !event.shiftKey) view.step(...arrow);
    else if (arrow) {
      view.camera.panBy(-arrow[0] * STEP, -arrow[1] * STEP);
      view.moved();
    } else if (event.key === "+" || event.key === "=") view.zoomTowards(1.5);
    else if (event.key === "-" || event.key === "_") view.zoomTowards(1 / 1.5);
    else if (event.key === "0") view.home();
    else if (event.key === "Enter" || event.key === " ") view.pickFocused();
    else if (event.key === "Escape") view.letGo();
    else if (event.key === "/") view.panel.focusSearch();
    else return;
    event.preventDefault();
  };

  const heard = {
    pointerdown: down, pointermove: move, pointerup: up, pointercancel: up, pointerleave: leave,
    wheel, dblclick: twice, keydown: key, blur: () => view.unfocus(),
    keyup: (event) => canvas.classList.toggle("sv-keyed", event.key === "Tab" || canvas.classList.contains("sv-keyed")),
  };
  const over = new AbortController(), { signal } = over;
  for (const [name, hear] of Object.entries(heard)) canvas.addEventListener(name, hear, { passive: false, signal });
  return () => over.abort();
}
