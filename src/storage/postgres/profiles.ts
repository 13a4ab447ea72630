import type { HandlerProfile, ProfileNote } from '../handler-profile.js';
import { plainArray, textArray } from './arrays.js';
import type { Context } from './context.js';
import { type ProfileQueries, profileQueries } from './queries/profiles.js';
import { intOf, intOrNull, textOf } from './statement.js';

/** What attempts of handlers took: rows that are only added, so that no two workers wait for each other. */
export class Profiles {
  readonly #context: Context;
  readonly #queries: ProfileQueries;

  constructor(context: Context) {
    this.#context = context;
    this.#queries = profileQueries(context.schema);
  }

  async note(notes: readonly ProfileNote[]): Promise<void> {
    if (notes.length === 0) return;
    await this.#context.connection.run(this.#queries.note, [
      textArray(notes.map(({ name }) => name)),
      plainArray(notes.map(({ count }) => count)),
      plainArray(notes.map(({ totalMs }) => totalMs)),
      plainArray(notes.map(({ maxRssBytes }) => (maxRssBytes === null ? null : Math.round(maxRssBytes)))),
      this.#context.offsetMs(),
    ]);
  }

  async of(names: readonly string[], windowMs: number): Promise<HandlerProfile[]> {
    const values = [textArray(names), Math.round(windowMs), this.#context.offsetMs()];
    const rows = await this.#context.connection.run(this.#queries.of, values);
    return rows.map(([name, count, totalMs, peakRss]) => ({
      name: textOf(name),
      count: intOf(count),
      averageMs: Number(totalMs) / intOf(count),
      peakRssBytes: intOrNull(peakRss),
    }));
  }
}
