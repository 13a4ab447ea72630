import { describe } from 'vitest';
import { engineAvailable } from '../../support/engines.js';
import { clientSuite } from './client-suite.js';

describe.skipIf(!engineAvailable('postgres'))('client on a database', () => clientSuite('postgres'));
