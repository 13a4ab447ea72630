import { dispatchSuite } from './dispatch-suite.js';
import { mysqlKinds } from './mysql-kinds.js';

for (const kind of mysqlKinds) dispatchSuite(kind);
