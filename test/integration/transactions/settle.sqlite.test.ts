import { settleSuite } from './settle-suite.js';
import { sqliteKinds } from './sqlite-kinds.js';

for (const kind of sqliteKinds) settleSuite(kind, { isThorough: kind === sqliteKinds[0] });
