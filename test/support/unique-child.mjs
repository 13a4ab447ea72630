/*
 * Dispatches one unique job many times at once: node unique-child.mjs '{ url, key, count }'. Prints `ready`, begins when a
 * line comes in, and prints as JSON how many dispatches made a job and which jobs they were told of.
 */
import { once } from 'node:events';
import { defineJob, Millrace } from 'millrace';

const { url, key, count } = JSON.parse(process.argv[2]);
const work = defineJob('work', {});
const millrace = new Millrace({ database: url, jobs: [work], dispatchTimeout: '50s' });
await millrace.open();
process.stdout.write('ready\n');
await once(process.stdin, 'data');
const handles = await Promise.all(
  Array.from({ length: count }, (_, n) => millrace.dispatch(work, { n }, { unique: { key } })),
);
const ids = [...new Set(handles.map(({ id }) => id))];
const made = handles.filter(({ deduplicated }) => !deduplicated).length;
await millrace.close();
process.stdout.write(`${JSON.stringify({ made, ids })}\n`);
process.stdin.destroy();
