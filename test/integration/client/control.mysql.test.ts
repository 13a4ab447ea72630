import { describe } from 'vitest';
import { engineAvailable } from '../../support/engines.js';
import { controlSuite } from './control-suite.js';

describe.skipIf(!engineAvailable('mysql'))('control by the client', () => controlSuite('mysql'));
