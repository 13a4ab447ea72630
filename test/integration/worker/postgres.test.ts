import { describe } from 'vitest';
import { emptyDatabase, engineAvailable } from '../../support/engines.js';
import { processSuite } from './process-suite.js';
import { workerSuite } from './worker-suite.js';

describe.skipIf(!engineAvailable('postgres'))('worker on a database', () => {
  const open = async () => {
    const { address: url, [Symbol.asyncDispose]: dispose } = await emptyDatabase('postgres');
    return { url, [Symbol.asyncDispose]: dispose };
  };
  workerSuite({ name: 'postgres', open });
  processSuite({ name: 'postgres', open });
});
