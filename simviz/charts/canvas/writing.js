// Text on the canvas: legible over anything, by a halo in the colour of the page.

import { FONT_SIZE } from "./placing.js";

const SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
const SERIF = "'Iowan Old Style', 'Palatino Linotype', Palatino, 'Book Antiqua', Georgia, serif";
export const WORD_FONT = `500 ${FONT_SIZE}px ${SANS}`;
export const TEXT_FONT = `${FONT_SIZE}px ${SANS}`;

/** Write a line around a place. */
export function write(pen, text, x, y, colour, paper, halo = 3) {
  if (halo) {
    pen.lineWidth = halo;
    pen.strokeStyle = paper;
    pen.strokeText(text, x, y);
  }
  pen.fillStyle = colour;
  pen.fillText(text, x, y);
}

/** Fonts and sizes of the lines of a region's label, by its tier. */
export function regionFont(tier, line) {
  const size = line ? 12.5 : [17, 15, 13.5][Math.min(tier, 2)];
  return { size, font: `${line ? "400" : "600"} ${size}px ${SERIF}` };
}

/** Width and height of a region's label. */
export function measureRegion(pen, region) {
  let width = 0, height = 0;
  region.lines.forEach((line, k) => {
    const { size, font } = regionFont(region.tier, k);
    pen.font = font;
    width = Math.max(width, pen.measureText(line).width);
    height += 1.3 * size;
  });
  return { width, height };
}
