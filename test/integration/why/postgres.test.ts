import { describe } from 'vitest';
import { engineAvailable } from '../../support/engines.js';
import { whySuite } from './why-suite.js';

describe.skipIf(!engineAvailable('postgres'))('why on a database', () => whySuite('postgres'));
