// The map's place on the page: small, since it is sent with every change.

import { shared } from "./home.js";

export default function (component) {
  const { parentElement } = component;
  const start = () => {
    shared.waiting.delete(start);
    shared.mount(component);
  };
  shared.waiting.delete(parentElement.svStart);
  parentElement.svStart = start;
  if (shared.mount) start();
  else shared.waiting.add(start);
  return () => {
    // Streamlit says so, too, of a call that the next one overtook: the map goes on with that.
    if (parentElement.isConnected) return;
    shared.waiting.delete(parentElement.svStart);
    shared.waiting.delete(parentElement.svWaiting);
    parentElement.svView?.close();
    parentElement.svRows?.close();
    parentElement.svView = parentElement.svRows = undefined;
  };
}
