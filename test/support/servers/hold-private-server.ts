import { openServers } from './open-servers.js';

/** A run that never ends by itself: a test kills it, to see what is left. */
const run = await openServers({ engines: ['postgres'], onlyPrivate: true });
process.stdout.write(`${JSON.stringify({ keeperPid: run.keeperPid, servers: run.servers })}\n`);
setInterval(() => {}, 60_000);
