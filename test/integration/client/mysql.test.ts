import { describe } from 'vitest';
import { engineAvailable } from '../../support/engines.js';
import { clientSuite } from './client-suite.js';

describe.skipIf(!engineAvailable('mysql'))('client on a database', () => clientSuite('mysql'));
