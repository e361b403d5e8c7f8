// A map without a server behind it: in a notebook, or on a page that was saved.

import { fromBase64, readPart } from "./decode.js";
import { View } from "./view.js";

/** Partners of an item that lines go to, at most. */
const MAX_PARTNERS = 60;

/**
 * Show a map in an element. `hear` is called with the rows that the reader selects, the x side
 * first; answers with what selects rows, what shows a query, what turns to another model's drawing,
 * the partners of an item, the view, and what takes the map away.
 */
export function showAlone(root, { scene, items, ...sent }, hear) {
  const parts = new Map(Object.entries(sent).map(([name, bytes]) => [name, readPart(bytes)]));
  const shared = { lists: new Set(), parts }, known = readPart(items), split = known.header.n_x;
  const view = (shared.view = new View(root, () => {}, shared));
  const over = new AbortController(), { signal } = over;
  let rows = [], region = null, query = null, look = null, turned = 0;
  view.panel.box.classList.add("sv-alone");
  view.panel.box.style.setProperty("--sv-height", scene.height);
  // Keys that the map answers are not the notebook's: there, 0 twice ends all that was computed.
  // With Ctrl or Alt they are: Ctrl and S saves it. JupyterLab looks when the key comes to the document.
  const isOurs = (event) => !(event.ctrlKey || event.metaKey || event.altKey);
  const claim = (event) => view.panel.box.toggleAttribute("data-lm-suppress-shortcuts", isOurs(event));
  window.addEventListener("keydown", claim, { capture: true, signal });
  view.panel.box.addEventListener("keydown", (event) => {
    if (isOurs(event)) event.stopPropagation();
  });

  const partnersOf = (item) => {
    const found = [], { pairs } = parts.get("nearest").arrays;
    for (let k = 0; k < pairs.length && found.length < MAX_PARTNERS; k += 2) {
      if (pairs[k] === item) found.push(pairs[k + 1]);
      else if (pairs[k + 1] === item) found.push(pairs[k]);
    }
    return found;
  };

  const selection = () => {
    if (rows.length !== 1) return null;
    const [item] = rows, partners = partnersOf(item);
    return { item, partners, nearest: view.nearestOf(item).map((i) => [i, null, partners.includes(i)]) };
  };

  const heard = (name, value) => {
    if (name === "picked") {
      rows = value.key ? [Number(value.key.slice(1)) + (value.key[0] === "y" ? split : 0)] : [];
      region = query = null;
    } else if (name === "region") {
      const bits = value.rows ? fromBase64(value.rows) : [];
      rows = [...view.labels.keys()].filter((i) => bits[i >> 3] & (1 << (i & 7)));
      region = value.corners;
    }
    draw();
    hear(rows);
  };

  const draw = (wanted = isDark(root) ? "dark" : "light") => {
    look = wanted;
    const { marks, legend, ...colours } = scene.looks[look], selected = selection(), shown = selected ?? query;
    const seen = shown ? [shown.nearest.length, shown.partners.length] : [0, 0];
    view.update({
      setStateValue: heard,
      data: {
        ...scene, ...colours, selected, query, region, rows: region ? null : rows,
        legend: [...legend, ...marks.filter((_, k) => seen[k])],
        camera: { at: null, n: 0 }, asked: [], narrow: false, isAlone: true,
        alt: scene.alts[turned], marks: ["turned", turned],
      },
    }, known, parts.get(turned ? "then_places" : "places"));
  };
  const follow = () => {
    if (look !== (isDark(root) ? "dark" : "light")) draw();
  };

  draw();
  // The page behind may turn dark, and an element may come to stand on it only later.
  const sizes = new ResizeObserver(follow), classes = new MutationObserver(follow);
  sizes.observe(root);
  for (const node of [document.documentElement, document.body]) classes.observe(node, { attributes: true });
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const print = () => {
    draw("light");
    view.paint();
  };
  window.addEventListener("beforeprint", print, { signal });
  window.addEventListener("afterprint", follow, { signal });
  scheme.addEventListener("change", follow, { signal });
  return {
    select(wanted) {
      const known = wanted.filter((i) => i >= 0 && i < view.labels.length);
      if (String(known) === String(rows)) return;
      // Nothing that was searched for stands before them, and none is out of the window.
      view.letGo(true);
      rows = known;
      region = query = null;
      draw();
      if (rows.length > 1) view.home();
    },
    /** Show where a text stands that is no item, and what is nearest to it; null for none. */
    ask(asked) {
      view.letGo(true);
      rows = [];
      region = null;
      query = asked;
      draw();
    },
    /** Let the first model draw, or the second: 0 or 1. */
    turn(which) {
      turned = Number(which);
      draw();
    },
    partnersOf,
    view,
    close() {
      over.abort();
      sizes.disconnect();
      classes.disconnect();
      view.close();
      view.panel.box.remove();
    },
  };
}

/** Whether what lies behind an element is dark. */
function isDark(root) {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  for (let node = root; node; node = node.parentElement ?? node.getRootNode().host) {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = getComputedStyle(node).backgroundColor || "transparent";
    pen.fillRect(0, 0, 1, 1);
    const [red, green, blue, opacity] = pen.getImageData(0, 0, 1, 1).data;
    if (opacity > 127) return 0.3 * red + 0.6 * green + 0.1 * blue < 128;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}
