// Tells the server where the reader looks and what they set on the map, apart from all else, so
// that nothing else is redrawn.

const HOME = Symbol.for("simviz.map");

export default function ({ parentElement, setStateValue }) {
  const { listeners } = (globalThis[HOME] ??= { parts: new Map(), waiting: new Set(), listeners: new Set() });
  listeners.delete(parentElement.svHear);
  parentElement.svHear = setStateValue;
  listeners.add(parentElement.svHear);
  return () => {
    // Streamlit says so, too, of a call that the next one overtook.
    if (!parentElement.isConnected) listeners.delete(parentElement.svHear);
  };
}
