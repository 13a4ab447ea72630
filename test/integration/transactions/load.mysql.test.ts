import { loadSuite } from './load-suite.js';
import { mysqlKinds } from './mysql-kinds.js';

for (const kind of mysqlKinds) loadSuite(kind);
