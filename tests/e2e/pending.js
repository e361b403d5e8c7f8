// What a page still does or waits for, by name: asked by `settling.rest`. Run before any script of
// the page, so that nothing is missed; what counts frames of a script run is Streamlit's protocol.
(() => {
  const owed = new Set();
  let run = "";
  // Fields of a message, as protobuf writes them.
  const fields = (bytes) => {
    const found = new Set();
    let at = 0;
    const number = () => {
      let value = 0, shift = 1, byte;
      do {
        byte = bytes[at++];
        value += (byte & 127) * shift;
        shift *= 128;
      } while (byte > 127);
      return value;
    };
    while (at < bytes.length) {
      const tag = number(), kind = tag % 8;
      found.add(Math.floor(tag / 8));
      if (kind === 0) number();
      else if (kind === 2) at = number() + at;
      else at += kind === 1 ? 8 : 4;
    }
    return found;
  };
  // BackMsg and ForwardMsg: what is asked is owed until a run begins, and that until it ends.
  const RERUN = 11, BEGUN = 4, ENDED = 6;
  const { send } = WebSocket.prototype;
  WebSocket.prototype.send = function (message) {
    if (message instanceof Uint8Array && fields(message).has(RERUN)) owed.add("a run asked for");
    return send.call(this, message);
  };
  const Socket = WebSocket;
  window.WebSocket = class extends Socket {
    constructor(...address) {
      super(...address);
      this.addEventListener("message", ({ data }) => {
        const told = fields(new Uint8Array(data));
        if (told.has(BEGUN)) {
          owed.delete("a run asked for");
          run = "a run that has begun";
        } else if (told.has(ENDED)) run = "";
      });
      this.addEventListener("close", () => {
        owed.delete("a run asked for");
        run = "";
      });
    }
  };
  // Requests, and timers that end or come back soon.
  const asked = (name, promise) => {
    const one = { toString: () => name };
    owed.add(one);
    const done = () => owed.delete(one);
    promise.then(done, done);
  };
  const { fetch, setTimeout, clearTimeout, setInterval, clearInterval } = window;
  window.fetch = (...request) => {
    const answer = fetch(...request);
    asked(`request ${request[0].url ?? request[0]}`, answer);
    return answer;
  };
  const { open, send: ask } = XMLHttpRequest.prototype;
  XMLHttpRequest.prototype.open = function (...request) {
    this.asksFor = request[1];
    return open.apply(this, request);
  };
  XMLHttpRequest.prototype.send = function (...body) {
    asked(`request ${this.asksFor}`, new Promise((done) => this.addEventListener("loadend", done)));
    return ask.apply(this, body);
  };
  const SOON = 1000, timers = new Map();
  window.setTimeout = (act, milliseconds = 0, ...rest) => {
    if (milliseconds > SOON || typeof act !== "function") return setTimeout(act, milliseconds, ...rest);
    const timer = setTimeout(() => {
      timers.delete(timer);
      act(...rest);
    }, milliseconds);
    timers.set(timer, `timer of ${milliseconds} ms`);
    return timer;
  };
  window.setInterval = (act, milliseconds, ...rest) => {
    const timer = setInterval(act, milliseconds, ...rest);
    if (milliseconds <= SOON) timers.set(timer, `repeated every ${milliseconds} ms`);
    return timer;
  };
  window.clearTimeout = window.clearInterval = (timer) => {
    timers.delete(timer);
    clearTimeout(timer);
  };

  window.pending = () => {
    const found = [...owed].map(String);
    if (run) found.push(run);
    if (document.readyState !== "complete") found.push("the document");
    const app = document.querySelector("[data-testid=stApp]");
    const { testScriptState, testConnectionState } = app?.dataset ?? {};
    if (app && testScriptState !== "notRunning") found.push(`script ${testScriptState}`);
    if (app && testConnectionState !== "CONNECTED") found.push(`connection ${testConnectionState}`);
    if (document.querySelector("[data-testid=stSkeleton]")) found.push("a skeleton");
    for (const map of window[Symbol.for("simviz.maps")] ?? []) {
      found.push(...map.pending.map((name) => `map: ${name}`));
    }
    found.push(...timers.values());
    for (const image of document.images) if (!image.complete) found.push(`picture ${image.src}`);
    for (const change of document.getAnimations()) {
      const isEndless = change.effect?.getComputedTiming().endTime === Infinity;
      if (change.playState === "running") {
        found.push(`${isEndless ? "endless " : ""}animation ${change.animationName ?? change.transitionProperty}`);
      }
    }
    return found;
  };
})();
