import { describe, expect, it } from 'vitest';
import { openEngine } from '../../support/engines.js';
import { faultyStorage } from '../../support/faulty-storage.js';
import { openHub } from '../../support/hub-stage.js';
import { openRawLink, rawBeat, rawHello } from '../../support/raw-link.js';

describe('[memory] a goodbye', () => {
  it('that the database did not take is told so, and may be said again', async () => {
    await using engine = await openEngine('memory');
    const faulty = faultyStorage(engine.storage, () => null);
    await using stage = await openHub(faulty.storage);
    using link = await openRawLink(stage.hub.port);
    link.text(rawHello());
    await link.next('welcome');
    faulty.fail('unregister', ['before']);
    link.text({ ...rawBeat(2), type: 'goodbye' });
    expect(await link.next('failed')).toMatchObject({ re: 2, retryable: true });
    link.text({ ...rawBeat(3), type: 'goodbye' });
    expect(await link.next('goodbye-ack')).toMatchObject({ re: 3 });
    expect(await link.closeCode()).toBe(1000);
  });
});
