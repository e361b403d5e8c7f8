// Keeps what is large: the code, the items and their places. Sent once, and again when it changes.

import { readPart } from "./decode.js";
import { shared } from "./home.js";
import { Rows } from "./rows.js";
import { View } from "./view.js";

export default function ({ data, parentElement }) {
  shared.mount ??= (component) => (component.data.title ? list(component) : mount(component));
  if (data) {
    const part = readPart(data);
    const { digest } = part.header;
    // What this place on the page held before is let go.
    const old = parentElement.svDigest;
    if (old && old !== digest) shared.parts.delete(old);
    parentElement.svDigest = digest;
    shared.parts.set(digest, part);
  }
  for (const again of [...shared.waiting]) again();
}

/** Show a map as soon as all its parts are there. */
function mount(component) {
  const { data, parentElement } = component;
  const items = shared.parts.get(data.items);
  const places = shared.parts.get(data.places);
  parentElement.svWaiting && shared.waiting.delete(parentElement.svWaiting);
  if (!items || !places) {
    parentElement.svWaiting = () => mount(component);
    shared.waiting.add(parentElement.svWaiting);
    return;
  }
  const told = (name, value) => shared.listeners.forEach((hear) => hear(name, value));
  parentElement.svView ??= new View(parentElement, told, shared);
  shared.view = parentElement.svView;
  shared.view.update(component, items, places);
}

/** Show a list beside the map; what it lists is known once there is one. */
function list(component) {
  const { parentElement } = component;
  parentElement.svRows ??= new Rows(parentElement, shared);
  parentElement.svRows.update(component);
}
