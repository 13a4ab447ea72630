import { mysqlKinds } from './mysql-kinds.js';
import { settleSuite } from './settle-suite.js';

for (const kind of mysqlKinds) settleSuite(kind, { isThorough: kind === mysqlKinds[0] });
