/* The module that process lanes load in tests, as an application would write it. */
import { Millrace } from 'millrace';
import { act, actBriefly, actInline, actSoon } from './lane-jobs.mjs';

const millrace = new Millrace({
  database: process.env.MILLRACE_TEST_LANE_DATABASE ?? 'memory:',
  jobs: [act, actBriefly, actSoon, actInline],
});
await millrace.worker({ module: import.meta.url }).start();
throw new Error('in a lane, nothing after the start of the worker is run');
