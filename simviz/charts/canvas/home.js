// What the scripts of the map share on a page, whichever of them comes first.

export const shared = (globalThis[Symbol.for("simviz.map")] ??= {
  parts: new Map(), waiting: new Set(), listeners: new Set(), lists: new Set(),
});
