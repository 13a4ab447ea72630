import { describe } from 'vitest';
import { engineAvailable } from '../../support/engines.js';
import { controlSuite } from './control-suite.js';

describe.skipIf(!engineAvailable('postgres'))('control by the client', () => controlSuite('postgres'));
