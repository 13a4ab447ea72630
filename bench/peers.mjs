import { isQuiet, spread } from './results.mjs';

/** Rows of a run of other queues and ours, asked by queue. */
export class Peers {
  #rows;

  constructor(rows) {
    this.#rows = rows;
  }

  get isEmpty() {
    return this.#rows.length === 0;
  }

  get conditions() {
    return this.#rows.find(({ work }) => work === 'conditions');
  }

  get minutes() {
    return this.#rows.find(({ work }) => work === 'end')?.minutes;
  }

  /** What each queue is, in the order of the run, those that could not be measured too. */
  get queues() {
    return this.#rows.filter(({ work }) => work === 'queue');
  }

  /** Ours on this engine. */
  oursOn(engine) {
    return this.queues.find((queue) => queue.engine === engine && queue.isOurs);
  }

  get failed() {
    return this.#rows.filter(({ problems }) => problems?.length > 0);
  }

  skipped(name) {
    return this.#rows.filter(({ queue, skipped }) => queue === name && skipped !== undefined);
  }

  isCut(name, work, about = {}) {
    return this.#found(name, work, about).some(({ isTimeout }) => isTimeout);
  }

  values(name, work, about = {}, read = ({ perSec }) => perSec) {
    const rows = this.#quiet(name, work, about);
    return spread(
      rows.map(read),
      rows.some((row) => !isQuiet(row)),
    );
  }

  /** This queue divided by that one, each repetition by itself; null where they have none in common. */
  ratio([name, other], work, about = {}, read = ({ perSec }) => perSec) {
    const others = new Map(this.#found(other, work, about).map((row) => [row.rep, row]));
    const pairs = this.#found(name, work, about)
      .filter(({ rep }) => others.has(rep))
      .map((row) => [row, others.get(row.rep)]);
    const quiet = pairs.filter((pair) => pair.every(isQuiet));
    const used = quiet.length > 0 ? quiet : pairs;
    return spread(
      used.map(([row, beside]) => read(row) / read(beside)),
      quiet.length === 0,
    );
  }

  /**
   * Ours on this engine divided by the best of the queues on the same kind of database: `{ ratio, title, best, ours }`,
   * or null.
   */
  against(engine, work, about) {
    const ours = this.oursOn(engine);
    if (ours === undefined) return null;
    const [first] = this.queues
      .filter((queue) => queue.engine === engine && !queue.isOurs && queue.store === ours.store)
      .map(({ queue, title }) => ({
        title,
        best: this.values(queue, work, about),
        ratio: this.ratio([ours.queue, queue], work, about),
      }))
      .filter(({ ratio }) => ratio !== null)
      .sort((a, b) => b.best.median - a.best.median);
    return first === undefined ? null : { ...first, ours: this.values(ours.queue, work, about) };
  }

  #found(name, work, about) {
    return this.#rows.filter(
      (row) =>
        row.queue === name &&
        row.work === work &&
        row.skipped === undefined &&
        !(row.problems?.length > 0) &&
        Object.entries(about).every(([key, value]) => row[key] === value),
    );
  }

  #quiet(name, work, about) {
    const found = this.#found(name, work, about);
    const quiet = found.filter(isQuiet);
    return quiet.length > 0 ? quiet : found;
  }
}
