/*
 * A real worker with a process lane in a process of its own: node lane-parent.mjs '{ job }'. Dispatches the job, and prints
 * the pid of its lane once the handler runs. Says nothing and does nothing after that.
 */
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Millrace } from 'millrace';
import { act } from './lane-jobs.mjs';

const module = pathToFileURL(fileURLToPath(new URL('./lane-module.mjs', import.meta.url)));
const { input } = JSON.parse(process.argv[2]);
const logger = {
  debug: () => undefined,
  info: (_message, { lanePid } = {}) => lanePid !== undefined && process.stdout.write(`lane ${lanePid}\n`),
  warn: () => undefined,
  error: (message) => process.stderr.write(`${message}\n`),
};
const millrace = new Millrace({ database: 'memory:', jobs: [act], logger });
await millrace.worker({ module, processLanes: 1 }).start();
await millrace.dispatch(act, input);
