/** What a worker is told of the age of a lease must never make it younger than it is, nor much older. */
import { describe, expect, it } from 'vitest';
import { openEngine } from '../../support/engines.js';
import { faultyStorage } from '../../support/faulty-storage.js';
import { addJobs, openHub } from '../../support/hub-stage.js';
import { openRawLink, rawBeat, rawHello } from '../../support/raw-link.js';

const takes = [{ queues: ['default'], names: ['work'], limit: 1, start: 1 }];
const want = (id: number) => ({
  type: 'settle',
  id,
  settlements: [],
  want: { after: 0, takes, alone: false },
});

describe('[memory] the age of leases', () => {
  it('goes by the last heartbeat, also after claims that brought nothing', async () => {
    await using engine = await openEngine('memory');
    await using stage = await openHub(engine.storage);
    using link = await openRawLink(stage.hub.port);
    link.text(rawHello());
    await link.next('welcome');
    link.text(want(2));
    expect(await link.next('assign')).toMatchObject({ re: 2, jobs: [] });
    // Wakes the hub for this queue, and its claim finds nothing that this worker knows.
    await addJobs(engine.storage, 1, { name: 'unknown' });
    link.text(rawBeat(3));
    await link.next('beat-ack');
    await addJobs(engine.storage, 1, { name: 'unknown' });
    link.text(rawBeat(4));
    await link.next('beat-ack');
    const [id] = await addJobs(engine.storage, 1);
    expect(await link.next('assign')).toMatchObject({ re: null, beat: 4, jobs: [{ id }] });
  });

  it('of a claim whose answer the hub lost goes by the heartbeat before it, and it answers no later want', async () => {
    await using engine = await openEngine('memory');
    let losesAnswers = false;
    const faulty = faultyStorage(engine.storage, ({ method }) =>
      losesAnswers && (method === 'claim' || method === 'exchange') ? 'after' : null,
    );
    await using stage = await openHub(faulty.storage);
    using link = await openRawLink(stage.hub.port);
    link.text(rawHello());
    await link.next('welcome');
    const [id] = await addJobs(engine.storage, 1);
    losesAnswers = true;
    link.text(want(2));
    expect(await link.next('failed')).toMatchObject({ re: 2, retryable: true });
    losesAnswers = false;
    link.text(rawBeat(3));
    await link.next('beat-ack');
    link.text(want(4));
    expect(await link.next('settled')).toMatchObject({ re: 4 });
    expect(await link.next('assign')).toMatchObject({ re: null, beat: 1, jobs: [{ id }] });
    expect(await link.next('assign')).toMatchObject({ re: 4, jobs: [] });
  });
});
