import { rateOf } from '../clock.mjs';
import { payload, range } from '../payload.mjs';
import { openClient } from './client.mjs';

const piece = 20_000;
const warmUp = 50;

/** Puts the schema and jobs in place for another measurement. */
export async function load({ database, from = 0, jobs }) {
  const { millrace, noop } = openClient(database);
  await millrace.open();
  for (let start = from; start < from + jobs; start += piece) {
    const numbers = range(start, Math.min(piece, from + jobs - start));
    await millrace.dispatchMany(numbers.map((i) => ({ job: noop, input: payload(i) })));
  }
  await millrace.close();
  return {};
}

export async function bulk({ database, jobs }) {
  const { millrace, noop } = openClient(database);
  await millrace.open();
  const entries = range(0, jobs).map((i) => ({ job: noop, input: payload(i) }));
  const perSec = await rateOf(jobs, () => millrace.dispatchMany(entries));
  return finish(millrace, perSec, jobs);
}

export async function oneByOne({ database, jobs }) {
  const { millrace, noop } = openClient(database);
  for (let i = 0; i < warmUp; i += 1) await millrace.dispatch(noop, payload(i));
  const perSec = await rateOf(jobs, async () => {
    for (let i = 0; i < jobs; i += 1) await millrace.dispatch(noop, payload(i));
  });
  return finish(millrace, perSec, jobs + warmUp);
}

export async function inFlight({ database, jobs, width }) {
  const { millrace, noop } = openClient(database);
  for (let i = 0; i < warmUp; i += 1) await millrace.dispatch(noop, payload(i));
  let next = 0;
  const lane = async () => {
    while (next < jobs) await millrace.dispatch(noop, payload(next++));
  };
  const perSec = await rateOf(jobs, () => Promise.all(range(0, width).map(lane)));
  return finish(millrace, perSec, jobs + warmUp);
}

async function finish(millrace, perSec, expected) {
  const { pending } = await millrace.stats('default');
  await millrace.close();
  const problems = pending === expected ? [] : [`the database holds ${pending} jobs, expected ${expected}`];
  return { perSec, problems };
}
