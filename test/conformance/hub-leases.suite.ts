import { beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../src/internal/logger.js';
import { Rescuer } from '../../src/maintenance/rescuer.js';
import { hubReport } from '../support/hub-report.js';
import { workerReport } from '../support/worker-report.js';
import { HOUR, LEASE, SECOND, type Stage } from './stage.js';

const ROUND = 15 * SECOND;

/** On what evidence leases of workers are taken back that reach the database through hubs alone. */
export function hubLeasesSuite(stage: Stage): void {
  let monotonicMs = 0;
  const pass = (ms: number): void => {
    stage.advance(ms);
    monotonicMs += ms;
  };
  const newRescuer = (): Rescuer =>
    new Rescuer({
      ...{ storage: stage.storage, leaseMs: LEASE, logger: silentLogger },
      ...{ random: () => 0.5, monotonic: () => monotonicMs },
    });
  /** So many rounds of a sweeping process. */
  const rounds = async (rescuer: Rescuer, count: number, hub: string | null): Promise<void> => {
    for (let n = 0; n < count; n += 1) {
      if (hub !== null) await stage.storage.hubBeat(hubReport({ id: hub }));
      await rescuer.sweep({ expectedEveryMs: ROUND });
      pass(ROUND);
    }
  };
  /** A job that a worker on this link runs; its status. */
  const runningOn = async (link: 'hub' | 'storage'): Promise<() => Promise<string | undefined>> => {
    const id = stage.queue();
    const incarnation = stage.incarnation();
    const hubId = link === 'hub' ? 'its-hub' : null;
    await stage.storage.register(workerReport({ id, incarnation, link, hubId }), LEASE);
    const job = await stage.running(id, {}, { token: stage.token(incarnation), workerId: id });
    return async () => (await stage.statuses([job.id]))[0];
  };

  beforeEach(async () => {
    for (const { id } of await stage.storage.hubs()) await stage.storage.removeHub(id);
  });

  test('a lease of a worker on a hub link waits for as long as no hub is alive', async () => {
    const [far, near] = [await runningOn('hub'), await runningOn('storage')];
    await rounds(newRescuer(), 10, null);
    expect(await near()).toBe('pending');
    expect(await far()).toBe('processing');
  });

  test('it is taken back when some hub was seen alive for one whole lease', async () => {
    const far = await runningOn('hub');
    const rescuer = newRescuer();
    await rounds(rescuer, 3, null);
    await rounds(rescuer, 3, stage.queue());
    expect(await far()).toBe('processing');
    await rounds(rescuer, 2, stage.queue());
    expect(await far()).toBe('pending');
  });

  test('a time without any hub begins the watch anew', async () => {
    const far = await runningOn('hub');
    const rescuer = newRescuer();
    await rounds(rescuer, 2, stage.queue());
    await rounds(rescuer, 1, null);
    await rounds(rescuer, 3, stage.queue());
    expect(await far()).toBe('processing');
    await rounds(rescuer, 1, stage.queue());
    expect(await far()).toBe('pending');
  });

  test('a process that was frozen has seen no hub meanwhile', async () => {
    const far = await runningOn('hub');
    const rescuer = newRescuer();
    const hub = stage.queue();
    await rounds(rescuer, 2, hub);
    // Nothing is said of the hub in this time, nor of the database.
    pass(10 * ROUND);
    const late = stage.queue();
    await rounds(rescuer, 3, late);
    expect(await far()).toBe('processing');
    await rounds(rescuer, 1, late);
    expect(await far()).toBe('pending');
  });

  test('a young process takes what ended a whole lease ago under a hub that has run since', async () => {
    const hub = stage.queue();
    await stage.storage.hubBeat(hubReport({ id: hub }));
    const far = await runningOn('hub');
    pass(3 * LEASE);
    await newRescuer().sweep();
    expect(await far(), 'the hub is silent').toBe('processing');
    await stage.storage.hubBeat(hubReport({ id: hub }));
    await newRescuer().sweep();
    expect(await far()).toBe('pending');
  });

  test('a young process leaves what ended before the hub began', async () => {
    const [far, near] = [await runningOn('hub'), await runningOn('storage')];
    pass(3 * LEASE);
    await stage.storage.hubBeat(hubReport({ id: stage.queue() }));
    await newRescuer().sweep();
    expect(await near()).toBe('pending');
    expect(await far()).toBe('processing');
  });

  test('force takes it without any evidence', async () => {
    const far = await runningOn('hub');
    pass(LEASE + SECOND);
    await newRescuer().sweep({ force: true });
    expect(await far()).toBe('pending');
  });

  test('what a worker held that has been forgotten is judged by the database alone', async () => {
    const id = stage.queue();
    const incarnation = stage.incarnation();
    await stage.storage.register(workerReport({ id, incarnation, link: 'hub', hubId: 'gone' }), LEASE);
    const job = await stage.running(id, {}, { token: stage.token(incarnation), workerId: id });
    pass(HOUR);
    const [worker] = (await stage.storage.workers()).filter((each) => each.id === id);
    await newRescuer().sweep();
    expect(await stage.statuses([job.id])).toEqual(['processing']);
    expect(await stage.storage.forgetSilent(id, worker?.heartbeatAtMs ?? 0)).toBe(true);
    await newRescuer().sweep();
    expect(await stage.statuses([job.id])).toEqual(['pending']);
  });
}
