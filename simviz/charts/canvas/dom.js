// Elements of the page. Whatever comes from data is set as text, never read as markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with a class, a text and attributes. */
export function el(tag, className = "", text = "", attributes = {}) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** A canvas of so many pixels. */
export function sized(width, height, className = "") {
  return Object.assign(el("canvas", className), { width, height });
}

/** Let an element and what lies in it have the colours of a look. */
export function paint(box, look) {
  for (const [name, value] of Object.entries(look)) {
    if (typeof value === "string") box.style.setProperty(`--sv-${name}`, value);
  }
}

/** A button that does something when it is pressed. */
export function button(className, text, act, attributes = {}) {
  const made = el("button", className, text, { type: "button", ...attributes });
  made.addEventListener("click", act);
  return made;
}

/** A line drawing of 20 by 20. */
export function icon(path) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

export const ICONS = {
  plus: "M10 4v12M4 10h12",
  minus: "M4 10h12",
  whole: "M3 7V3h4M13 3h4v4M17 13v4h-4M7 17H3v-4",
  pan: "M10 2v16M2 10h16M10 2l-2 2.5M10 2l2 2.5M10 18l-2-2.5M10 18l2-2.5M2 10l2.5-2M2 10l2.5 2M18 10l-2.5-2M18 10l-2.5 2",
  lasso: "M6.5 13.5C4 12.700 2.500 11 2.500 8.900 2.500 5.600 6 3.500 10.200 3.500s7.300 2.100 7.300 5.200-3.300 5.300-7.500 5.300c-1.300 0-2.500-.200-3.500-.5zM6.500 13.500c1 .3 1.300 1.300.6 2-.700.700-1.900.300-1.900-.7 0-.8.500-1.300 1.300-1.300zM6.300 15.600c.2.900-.3 1.600-1.300 1.900",
  box: "M3.500 3.500h3M9 3.500h2.500M14 3.500h2.500v3M16.500 9v2.500M16.500 14v2.500h-3M11 16.500H8.500M6 16.500H3.500v-3M3.500 11V8.500M3.500 6V3.500",
  find: "M8.500 3.500a5 5 0 1 1 0 10 5 5 0 0 1 0-10zM12.200 12.200 17 17",
};
