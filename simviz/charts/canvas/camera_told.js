// Tells the server where the reader looks and what they set on the map, apart from all else, so
// that nothing else is redrawn.

import { shared } from "./home.js";

export default function ({ parentElement, setStateValue }) {
  const { listeners } = shared;
  listeners.delete(parentElement.svHear);
  parentElement.svHear = setStateValue;
  listeners.add(parentElement.svHear);
  return () => {
    // Streamlit says so, too, of a call that the next one overtook.
    if (!parentElement.isConnected) listeners.delete(parentElement.svHear);
  };
}
