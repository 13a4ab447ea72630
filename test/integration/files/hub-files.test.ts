import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { uuidv7 } from '../../../src/internal/uuid.js';
import { openEngine } from '../../support/engines.js';
import { addJobs, openHub } from '../../support/hub-stage.js';
import { LinkClient } from '../../support/link-client.js';
import { tempDir } from '../../support/temp.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

test('[sqlite] a hub takes pieces in order from who holds the lease, and nothing else; another connection goes on', async () => {
  await using engine = await openEngine('sqlite');
  await using dir = tempDir('files');
  await using stage = await openHub(engine.storage, { environment: { MILLRACE_FILES: dir.path } });
  await stage.hub.ready();
  const first = await LinkClient.join(stage.url);
  await addJobs(engine.storage, 1);
  first.send({
    ...{ type: 'settle', settlements: [] },
    want: { after: 0, takes: [first.take(1)], alone: false },
  });
  let jobs: readonly { id: string; token: string }[] = [];
  while (jobs.length === 0) ({ jobs } = await first.next('assign'));
  const [{ id: jobId, token }] = jobs as [{ id: string; token: string }];
  const file = { id: uuidv7(), lease: { id: jobId, token }, name: '../a.txt', type: 'text/plain' };
  const refusal = async (message: object): Promise<string> => {
    const answer = await first.answerTo(first.send(message as never));
    return answer.type === 'failed' ? answer.code : answer.type;
  };
  const foreign = { ...file, lease: { id: jobId, token: '0'.repeat(32) } };
  expect(await refusal({ type: 'file-begin', file: foreign })).toBe('lease-lost');
  expect(await refusal({ type: 'file-begin', file: { ...file, id: '../x' } })).toBe('message-invalid');
  expect(await refusal({ type: 'file-piece', file, offset: 0, data: base64('x') })).toBe('file-upload-lost');
  expect(await refusal({ type: 'file-begin', file })).toBe('file-ack');
  for (const data of ['?', 'AAA', 'A'.repeat(400_000)])
    expect(await refusal({ type: 'file-piece', file, offset: 0, data })).toBe('message-invalid');
  expect(await refusal({ type: 'file-piece', file, offset: 1, data: base64('x') })).toBe('file-upload-lost');
  expect(await refusal({ type: 'file-piece', file, offset: 0, data: base64('hello ') })).toBe('file-ack');
  expect(await refusal({ type: 'file-end', file, sizeBytes: 7 })).toBe('file-upload-lost');
  await using second = await openHub(engine.storage, { environment: { MILLRACE_FILES: dir.path } });
  await second.hub.ready();
  const { id, incarnation } = first;
  first.cut();
  await using again = await LinkClient.join(second.url, {
    id,
    incarnation,
    hello: { held: [{ id: jobId, token }] },
  });
  expect(await again.ask('file-ack', { type: 'file-begin', file })).toMatchObject({ held: 6, file: null });
  await again.ask('file-ack', { type: 'file-piece', file, offset: 6, data: base64('world') });
  const sha256 = createHash('sha256').update('hello world').digest('hex');
  const added = { id: file.id, jobId, name: 'a.txt', sizeBytes: 11, sha256 };
  for (const _ of [1, 2])
    expect(await again.ask('file-ack', { type: 'file-end', file, sizeBytes: 11 })).toMatchObject({
      file: added,
    });
  expect(await again.ask('file-bytes', { type: 'file-read', file: file.id, offset: 6 })).toMatchObject({
    data: base64('world'),
  });
}, 60_000);
