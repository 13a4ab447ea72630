/*
 * A worker process that is meant to be killed: node chaos-child.mjs '{ url, record, client, worker }'. Whatever happens
 * to its jobs is appended to a file of its own, one JSON line an event, before the handler goes on.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { defineJob, Millrace } from 'millrace';

const { url, record, client = {}, worker: workerOptions = {} } = JSON.parse(process.argv[2]);
const name = `pid ${process.pid}`;
let starts = 0;
/** Attempts of this process by the id of their job: it runs a job once at a time. */
const tokens = new Map();
/** Jobs that this process has put off once. */
const snoozed = new Set();

function note(kind, jobId, extra = {}) {
  const line = { at: Date.now(), kind, jobId, token: tokens.get(jobId), worker: name, ...extra };
  appendFileSync(record, `${JSON.stringify(line)}\n`);
}

const work = defineJob('chaos', {
  attempts: 20,
  backoff: { type: 'fixed', base: 20, jitter: false },
  async run({ input, job, signal, attempt, snooze, log }) {
    starts += 1;
    tokens.set(job.id, `${name} start ${starts}`);
    note('started', job.id);
    const token = tokens.get(job.id);
    signal.addEventListener('abort', () => note('lease-lost', job.id, { token }));
    await delay(input.ms);
    if (input.chatty) log.info('half way', { attempt });
    await delay(input.ms);
    note('ended', job.id, { token });
    if (attempt <= input.failures) throw new Error('as it was asked to');
    if (input.snoozes > 0 && attempt === 1 && !snoozed.has(job.id)) {
      snoozed.add(job.id);
      return snooze(50);
    }
    return { by: process.pid };
  },
});

const millrace = new Millrace({ database: url, jobs: [work], ...client });
millrace.on('job:completed', ({ id }) => note('settled', id, { verdict: 'completed' }));
millrace.on('job:retrying', ({ id }) => note('settled', id, { verdict: 'retry' }));
millrace.on('job:snoozed', ({ id }) => note('settled', id, { verdict: 'snoozed' }));
millrace.on('job:buried', ({ id }) => note('settled', id, { verdict: 'buried' }));
const worker = millrace.worker(workerOptions);
process.once('SIGTERM', () => {
  void (async () => {
    await worker.stop();
    await millrace.close();
    process.exit(0);
  })();
});
await worker.start();
process.stdout.write('ready\n');
