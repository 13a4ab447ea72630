/*
 * A real worker process for tests: node worker-child.mjs '{ url, record, client, worker }'. Each job of the one kind it
 * knows does what its input says and writes what happened, line by line, to the record file. Prints `ready` once it
 * runs. TERM stops it gracefully.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { defineJob, Millrace } from 'millrace';

const { url, record, client = {}, worker: workerOptions = {} } = JSON.parse(process.argv[2]);
const note = (event, job, extra = {}) =>
  appendFileSync(
    record,
    `${JSON.stringify({ event, job: job.id, pid: process.pid, at: Date.now(), ...extra })}\n`,
  );

function block(ms) {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

const act = defineJob('act', {
  timeout: '5m',
  async run({ input, job, signal, attempt }) {
    note('start', job, { attempt });
    signal.addEventListener('abort', () => note('abort', job, { code: signal.reason?.code }));
    if (input.die === true) process.kill(process.pid, 'SIGKILL');
    if (input.block !== undefined) block(input.block);
    if (input.sleep !== undefined) await delay(input.sleep, undefined, input.heed === true ? { signal } : {});
    note('end', job);
    return { pid: process.pid };
  },
});

const millrace = new Millrace({ database: url, jobs: [act], ...client });
const worker = millrace.worker(workerOptions);
millrace.on('job:completed', ({ id }) => note('completed', { id }));
process.once('SIGTERM', () => {
  void (async () => {
    await worker.stop();
    await millrace.close();
    process.exit(0);
  })();
});
await worker.start();
process.stdout.write('ready\n');
