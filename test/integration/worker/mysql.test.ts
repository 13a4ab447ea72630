import { describe } from 'vitest';
import { emptyDatabase, engineAvailable } from '../../support/engines.js';
import { processSuite } from './process-suite.js';
import { workerSuite } from './worker-suite.js';

describe.skipIf(!engineAvailable('mysql'))('worker on a database', () => {
  const open = async () => {
    const { address: url, [Symbol.asyncDispose]: dispose } = await emptyDatabase('mysql');
    return { url, [Symbol.asyncDispose]: dispose };
  };
  workerSuite({ name: 'mysql', open });
  processSuite({ name: 'mysql', open });
});
