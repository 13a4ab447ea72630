import { spread } from './results.mjs';

/** Ours in the peers' harness, by engine; every other name is a peer. */
export const OURS = {
  'sqlite-full': 'millrace-sqlite-full',
  'sqlite-normal': 'millrace-sqlite',
  postgres: 'millrace-postgres',
  mysql: 'millrace-mysql',
};

const noisyCores = 0.25;

/** Rows of the separate harness that runs other queues and ours under the same workloads. */
export class Peers {
  #rows;

  constructor(rows) {
    this.#rows = rows;
  }

  get isEmpty() {
    return this.#rows.length === 0;
  }

  get names() {
    return [...new Set(this.#rows.map(({ peer }) => peer))];
  }

  about(peer) {
    return this.#rows.find((row) => row.peer === peer && row.w === 'info');
  }

  values(peer, work, concurrency, read = ({ perSec }) => perSec) {
    const found = this.#rows.filter(
      ({ peer: name, w, c, error }) =>
        name === peer && w === work && c === concurrency && error === undefined,
    );
    const quiet = found.filter(({ foreign }) => !(foreign > noisyCores));
    return spread((quiet.length > 0 ? quiet : found).map(read), quiet.length === 0);
  }

  /** Ours divided by the best peer on this kind of server: `{ ratio, peer, best, ours }`, or null. */
  against(engine, backend, work, concurrency) {
    const ours = this.values(OURS[engine], work, concurrency);
    const candidates = this.names
      .filter((name) => !Object.values(OURS).includes(name) && this.about(name)?.backend.startsWith(backend))
      .map((peer) => ({ peer, best: this.values(peer, work, concurrency) }))
      .filter(({ best }) => best !== null)
      .sort((a, b) => b.best.median - a.best.median);
    const [first] = candidates;
    return ours === null || first === undefined
      ? null
      : { ...first, ours, ratio: ours.median / first.best.median };
  }
}
