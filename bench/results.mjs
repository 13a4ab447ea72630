import { median } from './statistics.mjs';

/** More than this of a core taken by others makes a repetition noisy. */
const noisyCores = 0.25;

/** The rows of a run, asked by what they measure. A noisy repetition is left out wherever a quiet one exists. */
export class Results {
  #rows;

  constructor(rows) {
    this.#rows = rows;
  }

  get conditions() {
    return this.#rows.find(({ work }) => work === 'conditions');
  }

  get minutes() {
    return this.#rows.find(({ work }) => work === 'end')?.minutes;
  }

  get missing() {
    return this.#rows.filter(({ work }) => work === 'missing');
  }

  get engines() {
    return [
      ...new Set(this.#rows.filter(({ work }) => work !== 'missing').flatMap(({ engine }) => engine ?? [])),
    ];
  }

  get drains() {
    return this.#rows.filter(({ share }) => share !== undefined);
  }

  get failed() {
    return this.#rows.filter(({ problems }) => problems?.length > 0);
  }

  rows(engine, work, about = {}) {
    const found = this.#rows.filter(
      (row) =>
        row.engine === engine &&
        row.work === work &&
        !(row.problems?.length > 0) &&
        Object.entries(about).every(([key, value]) => row[key] === value),
    );
    const quiet = found.filter(isQuiet);
    return quiet.length > 0 ? quiet : found;
  }

  /** `{ median, min, max, count, isNoisy }` of what `read` takes from each repetition; null where nothing was measured. */
  values(engine, work, about, read = ({ perSec }) => perSec) {
    return spreadOf(this.rows(engine, work, about), read);
  }

  raw(engine, limit) {
    return this.values(engine, 'raw', {}, ({ limits }) => limits[limit]);
  }

  /** Of each repetition, this work against that one. */
  pairs(engine, [work, read], [other, readOther]) {
    const others = new Map(this.rows(engine, other).map((row) => [row.rep, row]));
    const pairs = this.rows(engine, work).filter(({ rep }) => others.has(rep));
    const isNoisy = pairs.some((row) => !isQuiet(row) || !isQuiet(others.get(row.rep)));
    return spread(
      pairs.map((row) => read(row) / readOther(others.get(row.rep))),
      isNoisy,
    );
  }
}

export const isQuiet = ({ others }) => !(others > noisyCores);

function spreadOf(rows, read) {
  return spread(
    rows.map(read),
    rows.some((row) => !isQuiet(row)),
  );
}

export function spread(values, isNoisy = false) {
  const known = values.filter((value) => typeof value === 'number' && Number.isFinite(value));
  if (known.length === 0) return null;
  return {
    median: median(known),
    min: Math.min(...known),
    max: Math.max(...known),
    count: known.length,
    isNoisy,
  };
}

/** Handlers run per second from the start to the stamp. */
export const rateToStamp = (row, index) => (row.stamps[index].count / row.stamps[index].ms) * 1_000;

/** Handlers run per second between the two newest stamps up to this one. */
export function rateAtStamp({ stamps }, index) {
  const at = stamps[index];
  const before = stamps[index - 1] ?? { count: 0, ms: 0 };
  return ((at.count - before.count) / (at.ms - before.ms)) * 1_000;
}
