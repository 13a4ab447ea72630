/*
 * A program that dispatches a job and says no goodbye: node dispatching-child.mjs '{ url, worker }'. With `worker` it runs
 * a worker too. Prints `done` once the job is there.
 */
import { defineJob, Millrace } from 'millrace';

const { url, worker } = JSON.parse(process.argv[2]);
const greet = defineJob('greet', { run: () => 'Hello' });
const millrace = new Millrace({ database: url, jobs: [greet], migrate: 'auto' });
if (worker === true) await millrace.worker().start();
const handle = await millrace.dispatch(greet);
await handle.job();
if (worker === true) await handle.result({ timeout: '20s' });
process.stdout.write('done\n');
