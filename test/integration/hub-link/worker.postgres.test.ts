import { describe } from 'vitest';
import { engineAvailable } from '../../support/engines.js';
import { emptyHubDatabase } from '../../support/hub-engines.js';
import { workerSuite } from '../worker/worker-suite.js';

describe.skipIf(!engineAvailable('postgres'))('worker behind a hub', () => {
  const open = async () => {
    const { address: url, [Symbol.asyncDispose]: dispose } = await emptyHubDatabase('postgres');
    return { url, [Symbol.asyncDispose]: dispose };
  };
  workerSuite({ name: 'postgres', open });
});
