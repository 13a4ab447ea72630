import { postgresKinds } from './postgres-kinds.js';
import { settleSuite } from './settle-suite.js';

for (const kind of postgresKinds) settleSuite(kind, { isThorough: kind === postgresKinds[0] });
