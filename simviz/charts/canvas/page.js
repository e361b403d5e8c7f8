// The map on a page that was saved: all that it shows stands in an element of its own.

import { showAlone } from "./alone.js";
import { fromBase64 } from "./decode.js";
import { Rows } from "./rows.js";

const at = (id) => document.getElementById(id);
const { scene, ...sent } = JSON.parse(at("map-state").textContent);
const parts = Object.fromEntries(Object.entries(sent).map(([name, text]) => [name, fromBase64(text)]));
const map = showAlone(at("map"), { scene, ...parts }, () => {});
// Of two models: which of them draws, and what is nearest to what by the one and not by the other.
if (scene.changed) new Rows(at("changed"), map.view.shared).update({ data: scene.changed });
for (const radio of document.querySelectorAll("[name=model]")) radio.addEventListener("change", () => map.turn(radio.value));
// In a frame the page cannot see whether what is around it is dark: it is told "light" or "dark".
addEventListener("message", ({ data }) => (document.documentElement.style.colorScheme = data));
