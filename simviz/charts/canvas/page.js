// The map on a page that was saved: all that it shows stands in an element of its own.

import { showAlone } from "./alone.js";
import { fromBase64 } from "./decode.js";

const { scene, ...sent } = JSON.parse(document.getElementById("map-state").textContent);
const parts = Object.fromEntries(Object.entries(sent).map(([name, text]) => [name, fromBase64(text)]));
showAlone(document.getElementById("map"), { scene, ...parts }, () => {});
// In a frame the page cannot see whether what is around it is dark: it is told "light" or "dark".
addEventListener("message", ({ data }) => (document.documentElement.style.colorScheme = data));
