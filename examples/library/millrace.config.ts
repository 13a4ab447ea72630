/*
 * What `millrace up` runs here, and what lets the other commands look at the library:
 * `cd examples/library && npx millrace jobs --status buried`. Short leases: after a crash the next run soon has its jobs back.
 */
import { defineConfig } from 'millrace';
import { jobs } from './library.js';
import { database, filesFolder, stateFolder } from './places.js';

export default defineConfig({
  database,
  jobs,
  queue: 'default,gallery',
  files: filesFolder,
  heartbeat: '1s',
  staleTimeout: '3s',
  stateDir: stateFolder,
  worker: { concurrency: 8, stopTimeout: '5s' },
});
