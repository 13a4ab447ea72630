import { uuidv7 } from '../../../src/internal/uuid.js';
import { quoted } from '../../../src/storage/postgres/migrate.js';
import { boundedClaimQueries } from '../../../src/storage/postgres/queries/bounded-claim.js';
import { claimQueries } from '../../../src/storage/postgres/queries/claim.js';
import { claimManyQueries } from '../../../src/storage/postgres/queries/claim-many.js';
import { controlQueries } from '../../../src/storage/postgres/queries/control.js';
import { enqueueQueries } from '../../../src/storage/postgres/queries/enqueue.js';
import { inspectQueries } from '../../../src/storage/postgres/queries/inspect.js';
import { limitQueries } from '../../../src/storage/postgres/queries/limits.js';
import { lineQueries } from '../../../src/storage/postgres/queries/lines.js';
import { logQueries } from '../../../src/storage/postgres/queries/log.js';
import { profileQueries } from '../../../src/storage/postgres/queries/profiles.js';
import { recoverQueries } from '../../../src/storage/postgres/queries/recover.js';
import { endingQueries, settleQueries } from '../../../src/storage/postgres/queries/settle.js';
import type { Statement } from '../../../src/storage/postgres/statement.js';

const schema = quoted('millrace');
export const claims = claimQueries(schema);
export const many = claimManyQueries(schema);
export const bounded = boundedClaimQueries(schema);
const lines = lineQueries(schema);
const limits = limitQueries(schema);
const profiles = profileQueries(schema);
const enqueues = enqueueQueries(schema);
export const settles = settleQueries(schema);
const endings = endingQueries(schema);
const recovers = recoverQueries(schema);
const controls = controlQueries(schema);
const inspects = inspectQueries(schema);
const logs = logQueries(schema);

const id = uuidv7();
const ids = `{${id}}`;
const token = 'ab'.repeat(16);
export const claimValues = [token, 'w', 45_000, '{q1,q2}', '{work,other}', 200, 10, 0, 0, false];
const names = '{"work\x1fother",work}';
const manyValues = [token, 'w', 45_000, '{q1,q2,q1}', '{1,1,2}', names, '{200,5}', '{10,5}', 0, false];
const takeBounds = ['{null,1,null}', '{null,2,null}', '{null,null,3}', '{null,5,null}', '{1,2,1}', names];
const takeLocks = ['{1,2,3}', '{1}', '{2}', '{2}', '{10}', '{3}', '{10}', '{1}', '{1}', 0];
const jobArrays = [ids, '{q1}', '{work}', '{0}', '{0}', '{null}', '{1}', '{3}', '{null}'];

/** Every statement that runs per job, per batch, per poll or per heartbeat. */
export const hot: readonly (readonly [Statement, readonly unknown[]])[] = [
  [claims.claim, claimValues],
  [claims.settle, [ids, `{${token}}`, '{1}', 0]],
  [claims.exchange, [...claimValues, ids, `{${token}}`, '{1}']],
  [many.claim, manyValues],
  [many.exchange, [...manyValues, ids, `{${token}}`, '{1}']],
  [bounded.scan, ['{q1,q2}', '{0,0}', '{work}', 2_147_483_647, 0, 1_000]],
  [
    bounded.heads,
    [token, '{q1,q1,q2}', '{0,7,8}', '{1,1,2}', '{200,10,10}', names, '{1}', '{2}', '{2}', '{3}', 0],
  ],
  [bounded.next, ['{q1,q2}', '{7,8}', '{1,2}', names, 0]],
  [
    bounded.take,
    [
      token,
      'w',
      45_000,
      '{q1,q1,q2}',
      '{0,7,8}',
      '{1,1,2}',
      '{200,10,10}',
      '{10,10,10}',
      ...takeBounds,
      ...takeLocks,
    ],
  ],
  [lines.keep, ['{x}']],
  [lines.byId, ['{7}']],
  [lines.orphaned, []],
  [lines.move, [7, 8, 1, 2]],
  [lines.unnamed, [86_400_000, 0, 100]],
  [lines.removeUnused, ['{7}']],
  [lines.removeUnusedGates, ['{1}']],
  [limits.limits, []],
  [profiles.of, ['{work}', 3_600_000, 0]],
  [profiles.purge, [86_400_000, 0, 100]],
  [claims.markStarted, [ids, `{${token}}`]],
  [claims.renew, [token, token, 45_000, 0]],
  [claims.held, [token, token]],
  [claims.stopRequests, ['{abababababababab,cdcdcdcdcdcdcdcd}', 1_000]],
  [claims.heldSizes, [token]],
  [claims.heldPart, [token, ids]],
  [claims.peek, ['{q1,q2}', '{1,2}', names, '{q2}', 0]],
  [enqueues.insertOne, [id, 'q1', 'work', 0, 0, null, '1', 3, null, 0, 1]],
  [enqueues.insertMany, [...jobArrays, 0, '{1}']],
  [enqueues.insertBounded, [...jobArrays, 0, '{1}', '{7}', '{1}', '{2}', '{5}', '{1}', '{x}']],
  [enqueues.knownIds, [ids]],
  [enqueues.lockParents, [ids]],
  [enqueues.markFollowed, [ids]],
  [enqueues.endedStatus, [ids]],
  [enqueues.keyHolders, ['{1}', '{k}']],
  [enqueues.assignKeys, ['{1}', '{k}', ids, '{null}', '{null}', 0]],
  [enqueues.returnKeys, ['{1}', '{k}']],
  [settles.putBack, [ids, `{${token}}`, '{0}', '{1}', '{null}', '{null}', 0]],
  [settles.lockJobs, [ids]],
  [settles.endedBy, [ids]],
  [endings.end, [ids, '{3}', '{null}', '{t}', '{0}', '{0}', '{0}', '{null}', '{1}', '{null}', 0]],
  [endings.remove, [ids]],
  [endings.meet, [ids]],
  [endings.release, [ids]],
  [recovers.expired, [0, 0, 100, null, null]],
  [recovers.returnToPending, [ids, '{0}', '{1}', '{0}', '{f}', '{null}', 0]],
  [recovers.stranded, [100]],
  [recovers.openParents, [ids]],
  [controls.hasten, [id, 0]],
  [controls.hastenMany, [ids, 0]],
  [controls.lockFinal, [ids]],
  [controls.addKindsOf, [ids, 'q2', 5]],
  [controls.edit, [ids, '2', 1, 5, 'q2', 0, null, 0]],
  [controls.requestStops, [ids, 1]],
  [controls.endedTerms, [id]],
  [controls.lockEnded, [ids]],
  [controls.revive, [ids, 0, '{x}', '{7}', '{1}', '{2}']],
  [controls.buriedIds, ['{q1,q2}', null, 100]],
  [controls.requestStop, [id, 1]],
  [controls.statusOf, [id]],
  [controls.purgeable, [3, 0, 0, 100]],
  [controls.purge, [ids, 3, 0]],
  [inspects.job, [id]],
  [inspects.endings, [ids]],
  [inspects.processing, [null, null, null, 100, false]],
  [inspects.pending, ['q1', null, null, null, null, 100, false]],
  [inspects.blocked, ['{q1,q2}', null, 100, true]],
  [inspects.ended, ['{q1,q2}', 3, null, 100, true]],
  [inspects.tagged, ['t1', id, 100, true]],
  [inspects.ahead, [id, 0]],
  [logs.append, [ids, `{${token}}`, '{1}', '{log}', '{info}', '{x}', 0, 1_000, 262_144]],
  [logs.page, [id, 0, 0, 100]],
];
