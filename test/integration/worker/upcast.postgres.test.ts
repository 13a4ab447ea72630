import { describe } from 'vitest';
import { engineAvailable } from '../../support/engines.js';
import { upcastSuite } from './upcast-suite.js';

describe.skipIf(!engineAvailable('postgres'))('upcasting', () => upcastSuite('postgres'));
