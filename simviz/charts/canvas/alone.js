// A map without a server behind it: in a notebook, or on a page that was saved.

import { fromBase64, readPart } from "./decode.js";
import { View } from "./view.js";

/** Partners of an item that lines go to, at most. */
const MOST_PARTNERS = 60;

/**
 * Show a map in an element. `hear` is called with the rows that the reader selects, the x side
 * first; answers with what selects rows, what shows a query, the view, and what takes the map away.
 */
export function showAlone(root, { scene, items, places, nearest }, hear) {
  const shared = { lists: new Set(), nearest: readPart(nearest) };
  const parts = [readPart(items), readPart(places)];
  const view = new View(root, () => {}, shared);
  const split = parts[0].header.n_x;
  let rows = [], region = null, query = null, look = null;
  view.panel.box.classList.add("sv-alone");
  view.panel.box.style.setProperty("--sv-height", scene.height);
  // Keys that the map answers are not the notebook's: there, 0 twice ends all that was computed.
  // With Ctrl or Alt they are: Ctrl and S saves it. JupyterLab looks when the key comes to the document.
  const isOurs = (event) => !(event.ctrlKey || event.metaKey || event.altKey);
  const claim = (event) => view.panel.box.toggleAttribute("data-lm-suppress-shortcuts", isOurs(event));
  window.addEventListener("keydown", claim, true);
  view.panel.box.addEventListener("keydown", (event) => {
    if (isOurs(event)) event.stopPropagation();
  });

  const selection = () => {
    if (rows.length !== 1) return null;
    const [item] = rows, partners = [], { pairs } = shared.nearest.arrays;
    for (let k = 0; k < pairs.length && partners.length < MOST_PARTNERS; k += 2) {
      if (pairs[k] === item) partners.push(pairs[k + 1]);
      else if (pairs[k + 1] === item) partners.push(pairs[k]);
    }
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
      },
    }, ...parts);
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
  window.addEventListener("beforeprint", print);
  window.addEventListener("afterprint", follow);
  scheme.addEventListener("change", follow);
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
    view,
    close() {
      window.removeEventListener("keydown", claim, true);
      sizes.disconnect();
      classes.disconnect();
      scheme.removeEventListener("change", follow);
      window.removeEventListener("beforeprint", print);
      window.removeEventListener("afterprint", follow);
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
