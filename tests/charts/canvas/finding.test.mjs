// Finding items by their text, and patterns that no reader waits for.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { load } from "./sampling.mjs";

const { PatternFinder, findText, folded } = await load("find.js");

test("neither case nor accents hide a text", () => {
  assert.equal(folded("Corazón ROJO ÅÉ"), "corazon rojo ae");
  const known = ["Corazón rojo", "rojo", "un corazón", "CORAZON", "azul"].map(folded);
  assert.deepEqual(findText(known, "  CORAZÓN "), [3, 0, 2], "equal, then at the beginning, then anywhere");
  assert.deepEqual(findText(known, "corazon rojo"), [0]);
  assert.deepEqual(findText(known, "   "), []);
  assert.deepEqual(findText(known, "verde"), []);
});

/** A thread that does what the test has it do. */
class Thread {
  static made = [];
  constructor() {
    this.heard = [];
    Thread.made.push(this);
  }
  postMessage(data) {
    this.heard.push(data);
  }
  terminate() {
    this.isEnded = true;
  }
  say(data) {
    this.onmessage({ data });
  }
}
globalThis.Worker = Thread;

test("a pattern is tried in a thread, which is kept for the next", async () => {
  const finder = new PatternFinder(["one", "two"]);
  const first = finder.find("^o"), [thread] = Thread.made.splice(0);
  assert.deepEqual(thread.heard, [{ texts: ["one", "two"] }, { pattern: "^o" }]);
  thread.say({ hasBegun: true });
  thread.say({ rows: [0] });
  assert.deepEqual(await first, { rows: [0] });
  const second = finder.find("(");
  assert.equal(Thread.made.length, 0);
  thread.say({ hasBegun: true });
  thread.say({ problem: "no such pattern" });
  assert.deepEqual(await second, { problem: "no such pattern" });
  assert.ok(!thread.isEnded && !finder.pending);
  finder.close();
  assert.ok(thread.isEnded);
});

test("a pattern that takes too long is ended, counted from where it begins", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const finder = new PatternFinder(["a"]);
  const told = finder.find("^(.+.+)+!$"), [thread] = Thread.made.splice(0);
  mock.timers.tick(60_000);
  assert.ok(finder.pending && !thread.isEnded, "a thread may take long to start");
  thread.say({ hasBegun: true });
  mock.timers.tick(690);
  assert.ok(finder.pending);
  mock.timers.tick(20);
  assert.match((await told).problem, /takes too long/);
  assert.ok(thread.isEnded && !finder.pending);
  // What is looked for meanwhile ends it too, and is found in a thread of its own.
  const given = finder.find("^(.+.+)+!$"), [slow] = Thread.made.splice(0);
  slow.say({ hasBegun: true });
  const next = finder.find("a"), [quick] = Thread.made.splice(0);
  assert.deepEqual(await given, { rows: [] });
  assert.ok(slow.isEnded);
  quick.say({ hasBegun: true });
  quick.say({ rows: [0] });
  assert.deepEqual(await next, { rows: [0] });
  mock.timers.tick(60_000);
  assert.ok(!quick.isEnded, "the clock of what was given up is stopped");
  const broken = finder.find("b");
  quick.onerror();
  assert.match((await broken).problem, /Search by text/);
  mock.timers.reset();
});
