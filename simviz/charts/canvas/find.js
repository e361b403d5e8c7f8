// Finding items by what they say: as it is typed, or by a pattern.

const PATIENCE = 700;
const WORKER = `
let texts = [];
onmessage = ({ data }) => {
  if (data.texts) { texts = data.texts; return; }
  postMessage({ hasBegun: true });
  try {
    const pattern = new RegExp(data.pattern, "iu");
    const rows = [];
    texts.forEach((text, i) => { if (pattern.test(text)) rows.push(i); });
    postMessage({ rows });
  } catch (error) {
    postMessage({ problem: String(error.message) });
  }
};`;

/** Without case and accents, so that "corazon" finds "Corazón". */
export function folded(text) {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

/** Rows whose text holds all that was typed: equal ones first, then those that begin so. */
export function findText(known, typed) {
  const needle = folded(typed.trim());
  if (!needle) return [];
  const groups = [[], [], []];
  known.forEach((text, i) => {
    const at = text.indexOf(needle);
    if (at >= 0) groups[text === needle ? 0 : at === 0 ? 1 : 2].push(i);
  });
  return groups.flat();
}

/**
 * Patterns run in a thread of their own and are ended when they take too long: some need
 * longer than anybody can wait, and neither the page nor the server may hang with them.
 */
export class PatternFinder {
  constructor(texts) {
    this.texts = texts;
    this.worker = null;
    this.pending = null;
  }

  find(pattern) {
    this.#stop();
    if (!this.worker) {
      this.address = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
      this.worker = new Worker(this.address);
      this.worker.postMessage({ texts: this.texts });
    }
    return new Promise((resolve) => {
      const pending = { timer: null, resolve };
      const giveUp = (problem) => {
        this.close();
        resolve({ problem });
      };
      this.pending = pending;
      this.worker.onmessage = ({ data }) => {
        if (data.hasBegun) {
          // Only now: on a busy machine a thread takes longer to start than a pattern to run.
          pending.timer = setTimeout(() => giveUp("This pattern takes too long. Make it simpler."), PATIENCE);
          return;
        }
        clearTimeout(pending.timer);
        this.pending = null;
        resolve(data);
      };
      this.worker.onerror = () => giveUp("This page can run no patterns. Search by text.");
      this.worker.postMessage({ pattern });
    });
  }

  /** A pattern that is still being tried is given up for the next. */
  #stop() {
    if (!this.pending) return;
    clearTimeout(this.pending.timer);
    this.pending.resolve({ rows: [] });
    this.close();
  }

  close() {
    this.pending = null;
    this.worker?.terminate();
    this.worker = null;
    if (this.address) URL.revokeObjectURL(this.address);
    this.address = null;
  }
}
