// Tells the server where the reader looks, apart from all else, so that nothing else is redrawn.

const HOME = Symbol.for("simviz.map");

export default function ({ parentElement, setStateValue }) {
  globalThis[HOME] ??= { parts: new Map(), waiting: new Set(), listeners: new Set() };
  const { listeners } = globalThis[HOME];
  listeners.delete(parentElement.svHear);
  parentElement.svHear = (camera) => setStateValue("at", camera);
  listeners.add(parentElement.svHear);
  return () => listeners.delete(parentElement.svHear);
}
