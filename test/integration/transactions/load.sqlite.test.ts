import { loadSuite } from './load-suite.js';
import { sqliteKinds } from './sqlite-kinds.js';

for (const kind of sqliteKinds) loadSuite(kind);
