import { describe } from 'vitest';
import { engineAvailable } from '../../support/engines.js';
import { faultsSuite } from './faults-suite.js';

describe.skipIf(!engineAvailable('memory'))('worker under faults', () => faultsSuite('memory'));
