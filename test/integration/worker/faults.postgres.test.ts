import { describe } from 'vitest';
import { engineAvailable } from '../../support/engines.js';
import { faultsSuite } from './faults-suite.js';

describe.skipIf(!engineAvailable('postgres'))('worker under faults', () => faultsSuite('postgres'));
