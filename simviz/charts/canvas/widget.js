// The map in a notebook, as anywidget's front-end modules are.

import { showAlone } from "./alone.js";

export default {
  render({ model, el }) {
    const bytes = (name) => {
      const { buffer, byteOffset, byteLength } = model.get(name);
      return new Uint8Array(buffer, byteOffset, byteLength);
    };
    const map = showAlone(
      el,
      { scene: model.get("scene"), items: bytes("items"), places: bytes("places"), nearest: bytes("nearest") },
      (rows) => {
        model.set("selected", rows);
        model.save_changes();
      },
    );
    const follow = () => map.select(model.get("selected"));
    follow();
    model.on("change:selected", follow);
    return () => {
      model.off("change:selected", follow);
      map.close();
    };
  },
};
