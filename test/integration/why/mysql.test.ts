import { describe } from 'vitest';
import { engineAvailable } from '../../support/engines.js';
import { whySuite } from './why-suite.js';

describe.skipIf(!engineAvailable('mysql'))('why on a database', () => whySuite('mysql'));
