import { workerSuite } from './worker-suite.js';

workerSuite({
  name: 'memory',
  open: () => Promise.resolve({ url: 'memory:', [Symbol.asyncDispose]: () => Promise.resolve() }),
});
