// Dots as stamps of pixels: the fastest way to draw very many without a graphics card.

/** How much of each pixel a shape of some radius covers, from 0 to 255. */
function coverage(radius, isInside) {
  const half = Math.ceil(radius), size = 2 * half + 1, fine = 5;
  const mask = new Uint8Array(size * size);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      let hits = 0;
      for (let a = 0; a < fine; a++) {
        for (let b = 0; b < fine; b++) {
          const x = column - half + (a + 0.5) / fine - 0.5;
          const y = row - half + (b + 0.5) / fine - 0.5;
          if (isInside(x, y)) hits++;
        }
      }
      mask[row * size + column] = Math.round((255 * hits) / (fine * fine));
    }
  }
  return { mask, size, half };
}

/** The two shapes that tell the sides apart, of about equal area. */
export function makeStamps(radius) {
  const reach = 1.28 * radius;
  return [
    coverage(radius, (x, y) => x * x + y * y <= radius * radius),
    coverage(reach, (x, y) => Math.abs(x) + Math.abs(y) <= reach),
  ];
}

/** Press a stamp of one colour onto pixels, its middle at a place. */
export function press(pixels, width, height, stamp, x, y, colour) {
  const { mask, size, half } = stamp;
  const left = x - half, top = y - half;
  const c0 = Math.max(0, -left), c1 = Math.min(size, width - left);
  const r0 = Math.max(0, -top), r1 = Math.min(size, height - top);
  const opaque = colour >>> 0, bare = colour & 0xffffff;
  for (let r = r0; r < r1; r++) {
    let at = (top + r) * width + left + c0, m = r * size + c0;
    for (let c = c0; c < c1; c++, at++, m++) {
      const part = mask[m];
      if (part === 0) continue;
      if (part === 255) {
        pixels[at] = opaque;
        continue;
      }
      const below = pixels[at];
      const alpha = below >>> 24;
      if (alpha === 0) {
        pixels[at] = (bare | (part << 24)) >>> 0;
        continue;
      }
      // The edge of one dot over another: mixed by how much it covers.
      const rest = 255 - part;
      const red = ((bare & 255) * part + (below & 255) * rest) >> 8;
      const green = (((bare >> 8) & 255) * part + ((below >> 8) & 255) * rest) >> 8;
      const blue = (((bare >> 16) & 255) * part + ((below >> 16) & 255) * rest) >> 8;
      pixels[at] = ((Math.max(alpha, part) << 24) | (blue << 16) | (green << 8) | red) >>> 0;
    }
  }
}
