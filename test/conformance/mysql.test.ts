import { openEngine } from '../support/engines.js';
import { storageSuite } from './storage-suite.js';

storageSuite({ name: 'mysql', open: () => openEngine('mysql') });
