// Numbers drawn at random, the same in each run (mulberry32).

const CANVAS = new URL("../../../simviz/charts/canvas/", import.meta.url);

/** A module of the canvas. */
export const load = (name) => import(new URL(name, CANVAS).href);

export function sampler(seed) {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    between: (low, high) => low + (high - low) * next(),
    below: (n) => Math.floor(n * next()),
    /** Values, a third of them in one place: maps have crowds. */
    places: (n) => Float32Array.from({ length: n }, (_, i) => (i % 3 ? 8 * next() - 4 : 0.5 * next())),
  };
}
