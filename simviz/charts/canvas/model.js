// A trained model in a browser: similarities of a text to all items, and what terms add to them.

import { Terms } from "./terms.js";

/** Numbers of 16 bits, the low bytes first and then the high ones, which pack better so. */
export function fromHalves(bytes) {
  const n = bytes.length / 2, values = new Float32Array(n);
  HALVES ??= Float32Array.from({ length: 65536 }, (_, bits) => half(bits));
  for (let i = 0; i < n; i++) values[i] = HALVES[bytes[i] | (bytes[n + i] << 8)];
  return values;
}

let HALVES = null;

function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

export class Model {
  /** `sides` are what is told of both, with texts of items, or vectors where there are none. */
  constructor({ kind, sides }, arrays) {
    this.kind = kind;
    this.sides = {};
    for (const name of ["x", "y"]) {
      const { terms, texts, weigh, scale } = sides[name], own = (of) => arrays[`${name}_${of}`];
      const side = { weigh, texts, scale, terms: terms && new Terms(terms), offset: own("offset") };
      this.sides[name] = side;
      side.k = side.offset?.length;
      if (own("projection")) Object.assign(side, { projection: fromHalves(own("projection")), places: own("places") });
      else if (texts && side.k) {
        const { projection, places, scale } = this.sides.x; // both sides have one matrix
        Object.assign(side, { projection, places, scale });
      } else if (!texts) side.vectors = fromHalves(own("vectors")).map((value) => value * scale);
    }
    for (const name of ["x", "y"]) if (this.sides[name].texts) this.#read(name);
  }

  /** Make what items are compared by. */
  #read(name) {
    const side = this.sides[name], { texts } = side;
    side.rows = texts.map((text) => side.terms.row(text));
    if (this.kind === "terms") {
      side.postings = new Map();
      side.rows.forEach((row, i) => {
        for (const [column, weight] of this.#weighed(name, row)) {
          let list = side.postings.get(column);
          if (!list) side.postings.set(column, (list = []));
          list.push(i, weight);
        }
      });
      return;
    }
    side.vectors = new Float32Array(texts.length * side.k);
    side.rows.forEach((row, i) => side.vectors.set(this.#vector(name, row), i * side.k));
  }

  /** Weights of terms whose products are the similarities. */
  #weighed(name, row) {
    const { weigh } = this.sides[name];
    let sum = 0;
    for (const weight of row.values()) sum += weigh ? weight : weight * weight;
    const weights = new Map();
    if (!weigh) {
      for (const [column, weight] of row) weights.set(column, weight / Math.sqrt(sum));
      return weights;
    }
    const { k1, b, average, idf, unseen } = weigh;
    for (const [column, count] of row) {
      const damping = k1 * (1 - b + (b * sum) / average);
      const saturated = average ? (count * (k1 + 1)) / (count + damping) : count;
      weights.set(column, saturated * (idf ? idf[column] ?? unseen : 1));
    }
    return weights;
  }

  /** The sum of what the terms of a row stand for, less the mean: not yet of length 1. */
  #point(name, row) {
    const { projection, places, offset, scale, k } = this.sides[name], point = new Float64Array(k);
    if (!row.size) return point;
    for (const [column, weight] of row) {
      for (let d = 0, at = places[column] * k; d < k; d++, at++) point[d] += weight * projection[at];
    }
    for (let d = 0; d < k; d++) point[d] = point[d] * scale - offset[d];
    return point;
  }

  #vector(name, row) {
    const point = this.#point(name, row);
    if (this.kind !== "cosine") return point;
    const length = lengthOf(point);
    return point.map((value) => value / length);
  }

  /** Whether anything is known of a text. */
  knows(name, text) {
    return this.sides[name].terms.row(text).size > 0;
  }

  /** Similarities of a text of a side to all items of the other. */
  scores(name, text) {
    const row = this.sides[name].terms.row(text);
    return this.#scored(name, this.kind === "terms" ? this.#weighed(name, row) : this.#vector(name, row));
  }

  /** Similarities of an item to all items of the other side. */
  scoresOf(name, i) {
    const side = this.sides[name];
    if (this.kind === "terms") return this.#scored(name, this.#weighed(name, side.rows[i]));
    return this.#scored(name, side.vectors.subarray(i * side.k, (i + 1) * side.k));
  }

  #other(name) {
    return this.sides[name === "x" ? "y" : "x"];
  }

  #scored(name, query) {
    const other = this.#other(name);
    if (this.kind === "terms") {
      const scores = new Float64Array(other.texts.length);
      for (const [column, weight] of query) {
        const list = other.postings.get(column) ?? [];
        for (let at = 0; at < list.length; at += 2) scores[list[at]] += weight * list[at + 1];
      }
      return scores;
    }
    const { vectors } = other, k = query.length, scores = new Float64Array(vectors.length / k);
    for (let i = 0, at = 0; i < scores.length; i++) {
      let sum = 0;
      for (let d = 0; d < k; d++) sum += query[d] * vectors[at++];
      scores[i] = sum;
    }
    return scores;
  }

  /**
   * What pairs of words add to the similarity of a text and an item of the other side, the most
   * first; what all others add, and the part of the means. Of an item without words, its own alone.
   */
  why(name, text, i, n = 6) {
    const side = this.sides[name], other = this.#other(name);
    const rows = [side.terms.row(text), other.texts ? other.rows[i] : null];
    const words = [wordsOf(side.terms, text, rows[0]), rows[1] && wordsOf(other.terms, other.texts[i], rows[1])];
    const pairs = new Map();
    let total = 0;
    const add = (one, another, value) => {
      total += value;
      for (const [word, share] of one) {
        for (const [match, part] of another) {
          const key = JSON.stringify([word, match]);
          pairs.set(key, (pairs.get(key) ?? 0) + value * share * part);
        }
      }
    };
    if (this.kind === "terms") {
      const [mine, its] = [this.#weighed(name, rows[0]), this.#weighed(name === "x" ? "y" : "x", rows[1])];
      for (const [column, weight] of mine) {
        if (its.has(column)) add(words[0].get(column), words[1].get(column), weight * its.get(column));
      }
    } else this.#multiply(name, rows, words, i, add);
    const query = this.kind === "terms" ? this.#weighed(name, rows[0]) : this.#vector(name, rows[0]);
    const score = this.#scored(name, query)[i];
    const listed = [...pairs].map(([key, value]) => [...JSON.parse(key), value]).filter(([, , value]) => value);
    listed.sort((one, another) => Math.abs(another[2]) - Math.abs(one[2]));
    const shown = listed.slice(0, n), rest = total - shown.reduce((sum, [, , value]) => sum + value, 0);
    return { score, pairs: shown, rest, offset: score - total };
  }

  /** What each term of a text adds with each of an item, or with the item as a whole. */
  #multiply(name, rows, words, i, add) {
    const side = this.sides[name], other = this.#other(name), { k } = side;
    const length = (point) => (this.kind === "cosine" ? lengthOf(point) : 1);
    const own = side.scale / length(this.#point(name, rows[0]));
    const parts = [];
    if (rows[1]) {
      const scale = other.scale / length(this.#point(name === "x" ? "y" : "x", rows[1]));
      for (const [column, weight] of rows[1]) {
        const from = other.places[column] * k, part = other.projection.subarray(from, from + k);
        parts.push([words[1].get(column), weight * scale, part]);
      }
    } else parts.push([[["", 1]], 1, other.vectors.subarray(i * k, (i + 1) * k)]);
    for (const [column, weight] of rows[0]) {
      const from = side.places[column] * k;
      for (const [match, size, part] of parts) {
        let sum = 0;
        for (let d = 0; d < k; d++) sum += side.projection[from + d] * part[d];
        add(words[0].get(column), match, weight * own * size * sum);
      }
    }
  }
}

/** The length of a vector, 1 for that of nothing. */
function lengthOf(point) {
  let sum = 0;
  for (let d = 0; d < point.length; d++) sum += point[d] * point[d];
  return Math.sqrt(sum) || 1;
}

/** Words of a text by the columns that they have a share in, and how large it is. */
function wordsOf(terms, text, row) {
  const found = new Map();
  for (const [term, length, words] of terms.parts(text)) {
    const column = terms.columnOf(term);
    if (!row.has(column)) continue;
    if (!found.has(column)) found.set(column, new Map());
    const shares = found.get(column);
    for (const [word, n] of words) shares.set(word, (shares.get(word) ?? 0) + n / length);
  }
  for (const [column, shares] of found) {
    const sum = [...shares.values()].reduce((a, b) => a + b, 0) || 1;
    found.set(column, [...shares].map(([word, share]) => [word, share / sum]));
  }
  return found;
}
