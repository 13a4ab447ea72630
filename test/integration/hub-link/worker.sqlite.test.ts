import { describe } from 'vitest';
import { emptyHubDatabase } from '../../support/hub-engines.js';
import { workerSuite } from '../worker/worker-suite.js';

describe('worker behind a hub', () => {
  const open = async () => {
    const { address: url, [Symbol.asyncDispose]: dispose } = await emptyHubDatabase('sqlite');
    return { url, [Symbol.asyncDispose]: dispose };
  };
  workerSuite({ name: 'sqlite', open });
});
