// Texts to weighted terms, as simviz.features does it: a table of cases in tests/exports holds the
// two together.

/** White space as Python's str.split has it, which is not that of \s here. */
const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const VISIBLE = new RegExp(`[^${SPACE}]+`, "gu");
const ENDS = new RegExp(`^[${SPACE}]+|[${SPACE}]+$`, "gu");
/** Letters and digits in a row, with the marks that belong to them. */
const TOKEN = /[\p{L}\p{N}]+(?:(?:(?![\u{10000}-\u{10ffff}])[\p{Mn}\p{Mc}])+[\p{L}\p{N}]*)*/gu;

const strip = (text) => text.replace(ENDS, "");

/** What the columns of a side mean, ready to be looked up. */
export class Terms {
  constructor(told) {
    Object.assign(this, told);
    this.columns = new Map(told.vocabulary.map((term, i) => [term, i]));
    this.stop = new Set(told.stop_words);
    this.inWords = new Map();
  }

  /** The terms of a text, as often as it has them. */
  of(text) {
    return this.parts(text).map(([term]) => term);
  }

  /**
   * The terms of a text with the words that they are made of: each a term, its length, and words
   * with how many characters of the term stand in each.
   */
  parts(text) {
    if (this.kind === "keywords") {
      const all = this.delimiter === null ? [text] : text.split(this.delimiter);
      const keywords = new Set(all.map((part) => strip(part).toLowerCase()).filter(Boolean));
      return [...keywords].map((word) => [word, 1, [[word, 1]]]);
    }
    text = text.normalize("NFC");
    if (this.lowercase) text = text.toLowerCase();
    if (this.analyzer === "word") return this.#words(text);
    if (this.analyzer === "char") return this.#characters(text);
    return (text.match(VISIBLE) ?? []).flatMap((word) => this.#inside(word));
  }

  #words(text) {
    const found = (text.match(TOKEN) ?? []).filter((word) => !this.stop.has(word));
    const [low, high] = this.ngram_range, terms = [];
    for (let n = low; n <= high; n++) {
      for (let i = 0; i + n <= found.length; i++) {
        const some = found.slice(i, i + n), whole = some.join(" ");
        terms.push([whole, 1, [[whole, 1]]]);
      }
    }
    return terms;
  }

  #characters(text) {
    const words = text.match(VISIBLE) ?? [], letters = [], owners = [];
    for (const word of words) {
      if (letters.length) letters.push(" ");
      for (const letter of word) {
        owners[letters.length] = word;
        letters.push(letter);
      }
    }
    const [low, high] = this.ngram_range, terms = [];
    for (let n = low; n <= high; n++) {
      for (let i = 0; i + n <= letters.length; i++) {
        const shares = new Map();
        for (let k = i; k < i + n; k++) if (owners[k]) shares.set(owners[k], (shares.get(owners[k]) ?? 0) + 1);
        terms.push([letters.slice(i, i + n).join(""), n, [...shares]]);
      }
    }
    return terms;
  }

  /** Terms inside a word; few words make up most of any text. */
  #inside(word) {
    let terms = this.inWords.get(word);
    if (terms) return terms;
    const letters = [" ", ...word, " "], [low, high] = this.ngram_range;
    terms = [];
    // A word shorter than n is a term as a whole, once.
    for (let n = low; n <= Math.max(low, Math.min(high, letters.length)); n++) {
      for (let i = 0; i < Math.max(letters.length - n + 1, 1); i++) {
        terms.push([letters.slice(i, i + n).join(""), 1, [[word, 1]]]);
      }
    }
    this.inWords.set(word, terms);
    return terms;
  }

  /** The column of a term, undefined where it has none. */
  columnOf(term) {
    const column = this.columns.get(term);
    if (column !== undefined || !this.n_unseen) return column;
    return this.columns.size + (crc32(term) % this.n_unseen);
  }

  /** A text as its columns and their weights. */
  row(text) {
    const counts = new Map();
    for (const term of this.of(text)) {
      const column = this.columnOf(term);
      if (column !== undefined) counts.set(column, (counts.get(column) ?? 0) + 1);
    }
    if (this.idf) {
      let sum = 0;
      for (const [column, count] of counts) {
        const weight = TF[this.tf](count) * (this.idf[column] ?? this.unseen_idf);
        if (weight) counts.set(column, weight);
        else counts.delete(column);
        sum += weight * weight;
      }
      const length = this.normalize && sum ? Math.sqrt(sum) : 1;
      for (const [column, weight] of counts) counts.set(column, weight / length);
    }
    return counts;
  }
}

const TF = { raw: (n) => n, log1p: Math.log1p, log2: (n) => 1 + Math.log2(n) };

/** The checksum that spreads terms which training did not show. */
export function crc32(text) {
  let sum = -1;
  const add = (byte) => {
    sum ^= byte;
    for (let k = 0; k < 8; k++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  };
  for (const letter of text) {
    // UTF-8 by hand: an encoder would replace halves of a pair, which texts of the web hold.
    const code = letter.codePointAt(0), more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    add([0, 0xc0, 0xe0, 0xf0][more] | (code >> (6 * more)));
    for (let k = more - 1; k >= 0; k--) add(0x80 | ((code >> (6 * k)) & 63));
  }
  return ~sum >>> 0;
}
