import { dispatchSuite } from './dispatch-suite.js';
import { sqliteKinds } from './sqlite-kinds.js';

for (const kind of sqliteKinds) dispatchSuite(kind);
