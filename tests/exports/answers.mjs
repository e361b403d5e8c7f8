// Answers of the model in a page, by the scripts of the canvas, to questions that are read as JSON.

import { readFileSync } from "node:fs";
import { inflateSync } from "node:zlib";

import { readPart } from "../../simviz/charts/canvas/decode.js";
import { Model } from "../../simviz/charts/canvas/model.js";
import { Terms } from "../../simviz/charts/canvas/terms.js";

const { page, typed = [], items = [], why = [], cases = [] } = JSON.parse(readFileSync(0, "utf8"));
const told = { terms: cases.map(({ text, ...settings }) => new Terms({ vocabulary: [], ...settings }).of(text)) };
if (page) {
  const state = /id="model-state">([^<]*)</.exec(readFileSync(page, "utf8"))[1];
  const { header, arrays } = readPart(new Uint8Array(inflateSync(Buffer.from(state, "base64"))));
  const model = new Model(header, arrays);
  told.typed = typed.map(([side, text]) => [...model.scores(side, text)]);
  told.items = items.map(([side, i]) => [...model.scoresOf(side, i)]);
  told.why = why.map(([side, text, i]) => model.why(side, text, i, 100));
}
process.stdout.write(JSON.stringify(told));
