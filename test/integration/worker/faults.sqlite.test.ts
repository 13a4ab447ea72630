import { describe } from 'vitest';
import { engineAvailable } from '../../support/engines.js';
import { faultsSuite } from './faults-suite.js';

describe.skipIf(!engineAvailable('sqlite'))('worker under faults', () => faultsSuite('sqlite'));
