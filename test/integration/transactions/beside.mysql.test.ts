import { besideSuite, snapshotSuite } from './beside-suite.js';
import { mysqlKinds } from './mysql-kinds.js';

for (const kind of mysqlKinds.slice(0, 1)) {
  besideSuite(kind);
  snapshotSuite(kind);
}
