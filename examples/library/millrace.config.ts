/* Lets the commands look at the library: `cd examples/library && npx millrace jobs --status buried`. */
import { defineConfig } from 'millrace';
import { jobs } from './library.js';
import { database } from './places.js';

export default defineConfig({ database, jobs, heartbeat: '1s', staleTimeout: '3s' });
