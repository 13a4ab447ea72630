import { dispatchSuite } from './dispatch-suite.js';
import { postgresKinds } from './postgres-kinds.js';

for (const kind of postgresKinds) dispatchSuite(kind);
