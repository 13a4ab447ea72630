import { loadSuite } from './load-suite.js';
import { postgresKinds } from './postgres-kinds.js';

for (const kind of postgresKinds) loadSuite(kind);
