/* What the children of process lanes load: the job of the measurement, in a lane of the kind that is asked for. */
import { defineJob, Millrace } from '../../dist/index.js';

export const noopIn = (lane) => defineJob('noop', { lane, run: () => undefined });

/** A worker finds it here in its children; in the process that measures it does nothing. */
export const inLane = new Millrace({ database: 'memory:', jobs: [noopIn('process')] });
