import { describe } from 'vitest';
import { engineAvailable } from '../../support/engines.js';
import { faultsSuite } from './faults-suite.js';

describe.skipIf(!engineAvailable('mysql'))('worker under faults', () => faultsSuite('mysql'));
