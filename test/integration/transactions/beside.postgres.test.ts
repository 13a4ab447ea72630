import { besideSuite } from './beside-suite.js';
import { postgresKinds } from './postgres-kinds.js';

for (const kind of postgresKinds.slice(0, 1)) besideSuite(kind);
