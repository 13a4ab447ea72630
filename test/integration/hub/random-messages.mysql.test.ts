import { describe } from 'vitest';
import { engineAvailable } from '../../support/engines.js';
import { randomMessagesSuite } from './random-messages-suite.js';

describe.skipIf(!engineAvailable('mysql'))('a hub under random messages', () => randomMessagesSuite('mysql'));
