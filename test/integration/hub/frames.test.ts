/** What breaks the rules of a connection ends it with the code that says which rule, and disturbs no other connection. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Hub } from '../../../src/hub/hub.js';
import { silentLogger } from '../../../src/internal/logger.js';
import { resolveSettings } from '../../../src/internal/settings.js';
import {
  closeCodes,
  linkFailures,
  maxFrameBytes,
  mostBadMessages,
  mostRows,
} from '../../../src/protocol/link-terms.js';
import { MemoryStorage } from '../../../src/storage/memory/storage.js';
import {
  encodeFrame,
  handshake,
  opcodes,
  openRawLink,
  type RawFrame,
  RawLink,
  rawBeat,
  rawHello,
} from '../../support/raw-link.js';
import { waitFor } from '../../support/wait-for.js';

const { continuation, text, binary, close, ping, pong } = opcodes;
const deadlineMs = 20_000;

let hub: Hub;
let storage: MemoryStorage;
/** Another worker of this hub, to which nothing may happen. */
let bystander: RawLink;
let beats = 1;

beforeAll(async () => {
  storage = new MemoryStorage();
  await storage.open();
  const { values: settings } = resolveSettings({});
  hub = new Hub({ storage, settings, port: 0, logger: silentLogger });
  await hub.start();
  bystander = await openRawLink(hub.port, { path: '/workers/w-bystander/link' });
  bystander.text(rawHello());
  await bystander.next('welcome');
});

afterAll(async () => {
  bystander?.[Symbol.dispose]();
  await hub?.stop();
  await storage?.close();
});

async function expectUndisturbed(): Promise<void> {
  beats += 1;
  bystander.text(rawBeat(beats));
  const { re } = await bystander.next('beat-ack');
  expect(re).toBe(beats);
  expect(bystander.isEnded).toBe(false);
}

/** Nothing of it is kept, whether or not its end answers the close. */
async function expectGone(): Promise<void> {
  await waitFor(() => hub.health.connections === 1, {
    describe: () => `the connection to be gone; there are ${hub.health.connections}`,
    deadlineMs,
  });
}

async function welcomed(): Promise<RawLink> {
  const link = await openRawLink(hub.port);
  link.text(rawHello());
  await link.next('welcome');
  return link;
}

const utf8 = Buffer.from('"é"');
const beginning = { opcode: text, payload: '{"type":', isFinal: false } as const;

const illegal: readonly (readonly [string, number, readonly RawFrame[]])[] = [
  ['a frame that is not masked', 1002, [{ opcode: text, payload: '{}', isMasked: false }]],
  ['a ping that is not masked', 1002, [{ opcode: ping, isMasked: false }]],
  ['a continuation of nothing', 1002, [{ opcode: continuation, payload: '{}' }]],
  [
    'a continuation after the last fragment',
    1002,
    [beginning, { opcode: continuation, payload: '"sing"}' }, { opcode: continuation, payload: 'x' }],
  ],
  ['a new text within a fragmented one', 1002, [beginning, { opcode: text, payload: '{}' }]],
  ['a binary message within a fragmented text', 1002, [beginning, { opcode: binary, payload: '{}' }]],
  ['a fragmented ping', 1002, [{ opcode: ping, payload: 'x', isFinal: false }]],
  ['a fragmented pong', 1002, [{ opcode: pong, payload: 'x', isFinal: false }]],
  ['a fragmented close', 1002, [{ opcode: close, payload: Buffer.from([0x03, 0xe8]), isFinal: false }]],
  ['a ping of 126 bytes', 1002, [{ opcode: ping, payload: Buffer.alloc(126) }]],
  [
    'a close of 126 bytes',
    1002,
    [{ opcode: close, payload: Buffer.concat([Buffer.from([0x03, 0xe8]), Buffer.alloc(124)]) }],
  ],
  ['reserved bit 1 (no compression was agreed on)', 1002, [{ opcode: text, payload: '{}', reserved: 4 }]],
  ['reserved bit 2', 1002, [{ opcode: text, payload: '{}', reserved: 2 }]],
  ['reserved bit 3', 1002, [{ opcode: text, payload: '{}', reserved: 1 }]],
  ['a reserved bit of a ping', 1002, [{ opcode: ping, reserved: 4 }]],
  ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map(
    (opcode) => [`the reserved opcode ${opcode}`, 1002, [{ opcode, payload: 'x' }]] as const,
  ),
  ['a close whose code is half of one', 1002, [{ opcode: close, payload: Buffer.from([3]) }]],
  ['a close with a code that none may send', 1002, [{ opcode: close, payload: Buffer.from([0x03, 0xed]) }]],
  ['a text that is no UTF-8', 1007, [{ opcode: text, payload: Buffer.from([0x22, 0xc3, 0x28, 0x22]) }]],
  ['a surrogate in UTF-8', 1007, [{ opcode: text, payload: Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]) }]],
  ['an overlong form of UTF-8', 1007, [{ opcode: text, payload: Buffer.from([0x22, 0xc0, 0x80, 0x22]) }]],
  ['a character that ends with the text', 1007, [{ opcode: text, payload: utf8.subarray(0, 2) }]],
  [
    'a text that is no UTF-8 over two fragments',
    1007,
    [
      { opcode: text, payload: utf8.subarray(0, 2), isFinal: false },
      { opcode: continuation, payload: '(' },
    ],
  ],
  [
    'a close whose reason is no UTF-8',
    1007,
    [{ opcode: close, payload: Buffer.from([0x03, 0xe8, 0xc3, 0x28]) }],
  ],
  ['a frame one byte too large', 1009, [{ opcode: text, payload: Buffer.alloc(maxFrameBytes + 1, 0x20) }]],
  ['a frame that says it is larger than memory', 1009, [{ opcode: text, claimedLength: 1n << 52n }]],
  [
    'a frame that says it is larger than numbers go',
    1009,
    [{ opcode: text, claimedLength: (1n << 63n) - 1n }],
  ],
  [
    'fragments that are too large together',
    1009,
    [
      { opcode: text, payload: Buffer.alloc(maxFrameBytes, 0x20), isFinal: false },
      { opcode: continuation, payload: ' ' },
    ],
  ],
];

describe('an illegal frame', () => {
  it.each(illegal)('%s closes with %i', async (_name, code, frames) => {
    using link = await welcomed();
    link.send(Buffer.concat(frames.map(encodeFrame)));
    expect(await link.closeCode()).toBe(code);
    await expectUndisturbed();
    await expectGone();
  });

  it.each(illegal)('before the hello: %s closes with %i', async (_name, code, frames) => {
    using link = await openRawLink(hub.port);
    link.send(Buffer.concat(frames.map(encodeFrame)));
    // A whole message that came before the frame is answered first: it was no hello.
    expect([code, closeCodes.noHello]).toContain(await link.closeCode());
    await expectUndisturbed();
    await expectGone();
  });
});

describe('an end that stays open after it was told to close', () => {
  it.each([
    ['an illegal frame', { opcode: text, payload: '{}', isMasked: false }, 1002],
    ['no UTF-8', { opcode: text, payload: Buffer.from([0xff]) }, 1007],
    ['a message before the hello', { opcode: text, payload: '{}' }, closeCodes.noHello],
  ] as const)('is let go all the same (%s)', async (_name, frame, code) => {
    using link = await openRawLink(hub.port, { keepsOpen: true });
    link.frame(frame);
    expect(await link.closeCode()).toBe(code);
    await expectGone();
    await expectUndisturbed();
  });
});

describe('a legal frame', () => {
  it('may come in fragments, with a ping between them that is answered at once', async () => {
    using link = await openRawLink(hub.port);
    const hello = Buffer.from(JSON.stringify(rawHello({ host: 'é'.repeat(50) })));
    const at = hello.indexOf('é') + 1;
    link.frame({ opcode: text, payload: hello.subarray(0, 10), isFinal: false });
    link.frame({ opcode: ping, payload: 'between' });
    await waitFor(
      () => link.frames.some(({ opcode, payload }) => opcode === pong && payload.toString() === 'between'),
      {
        describe: 'the pong',
        deadlineMs,
      },
    );
    // In the middle of a character, and once with nothing in it.
    link.frame({ opcode: continuation, payload: hello.subarray(10, at), isFinal: false });
    link.frame({ opcode: continuation, isFinal: false });
    link.frame({ opcode: continuation, payload: hello.subarray(at) });
    expect(await link.next('welcome')).toMatchObject({ re: 1 });
  });

  it('may come byte by byte', async () => {
    using link = await welcomed();
    for (const byte of encodeFrame({ opcode: text, payload: JSON.stringify(rawBeat(2)) }))
      link.send(Buffer.from([byte]));
    expect(await link.next('beat-ack')).toMatchObject({ re: 2 });
  });

  it('may be as large as the limit', async () => {
    using link = await welcomed();
    const beat = JSON.stringify(rawBeat(2));
    link.text(beat + ' '.repeat(maxFrameBytes - beat.length));
    expect(await link.next('beat-ack')).toMatchObject({ re: 2 });
  });

  it('may be a pong that nobody asked for, and a ping of 125 bytes', async () => {
    using link = await welcomed();
    link.frame({ opcode: pong, payload: 'x' });
    link.frame({ opcode: ping, payload: Buffer.alloc(125, 7) });
    await waitFor(
      () => link.frames.some(({ opcode, payload }) => opcode === pong && payload.length === 125),
      {
        describe: 'the pong',
        deadlineMs,
      },
    );
  });

  it('may be a close, which is answered with the same code', async () => {
    using link = await welcomed();
    link.frame({ opcode: close, payload: Buffer.from([0x03, 0xe9]) });
    expect(await link.closeCode()).toBe(1001);
    await expectGone();
  });
});

const refused: readonly (readonly [string, number, string])[] = [
  ['no sub-protocol', 400, handshake({ headers: { 'Sec-WebSocket-Protocol': null } })],
  ['an unknown sub-protocol', 400, handshake({ headers: { 'Sec-WebSocket-Protocol': 'millrace.v2' } })],
  [
    'a sub-protocol in other letters',
    400,
    handshake({ headers: { 'Sec-WebSocket-Protocol': 'Millrace.V1' } }),
  ],
  ['an empty sub-protocol', 400, handshake({ headers: { 'Sec-WebSocket-Protocol': '' } })],
  [
    'a sub-protocol twice',
    400,
    handshake({ headers: { 'Sec-WebSocket-Protocol': 'millrace.v1, millrace.v1' } }),
  ],
  ['another path', 404, handshake({ path: '/workers/w-raw/links' })],
  ['a path below', 404, handshake({ path: '/workers/w-raw/link/x' })],
  ['a path that climbs', 404, handshake({ path: '/workers/../workers/w-raw/link' })],
  ['no id', 404, handshake({ path: '/workers//link' })],
  ['an id of 101 letters', 400, handshake({ path: `/workers/${'w'.repeat(101)}/link` })],
  ['an id of 10,000 letters', 404, handshake({ path: `/workers/${'w'.repeat(10_000)}/link` })],
  ['an id with a slash', 400, handshake({ path: '/workers/w%2Fraw/link' })],
  ['an id with a line break', 400, handshake({ path: '/workers/w%0d%0araw/link' })],
  ['an id with a NUL', 400, handshake({ path: '/workers/w%00/link' })],
  ['an id that is badly encoded', 400, handshake({ path: '/workers/w%zz/link' })],
  ['a token in the address', 400, handshake({ path: '/workers/w-raw/link?token=x' })],
  ['another version of WebSocket', 426, handshake({ headers: { 'Sec-WebSocket-Version': '8' } })],
  ['no version of WebSocket', 426, handshake({ headers: { 'Sec-WebSocket-Version': null } })],
  ['no key', 400, handshake({ headers: { 'Sec-WebSocket-Key': null } })],
  ['a key that is none', 400, handshake({ headers: { 'Sec-WebSocket-Key': 'short' } })],
  ['an upgrade to something else', 400, handshake({ headers: { Upgrade: 'h2c' } })],
  ['another method', 400, handshake({ method: 'POST', headers: { 'Content-Length': '0' } })],
];

describe('a handshake', () => {
  it.each(refused)('with %s is refused with %i', async (_name, status, request) => {
    using link = RawLink.request(hub.port, request);
    const answer = await link.answer();
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    // One sentence that says why, for a person.
    expect(answer.split('\n\n')[1]?.trim()).toMatch(/\w+ \w+/);
    await waitFor(() => link.isEnded, { describe: 'the end of the connection', deadlineMs });
    await expectUndisturbed();
    await expectGone();
  });

  it('without an upgrade is a request like any other, which is answered', async () => {
    using link = RawLink.request(hub.port, handshake({ headers: { Upgrade: null, Connection: 'close' } }));
    expect(await link.answer()).toMatch(/^HTTP\/1.1 4\d\d /);
    await expectUndisturbed();
  });

  it('that offers others beside ours is answered with ours', async () => {
    using link = RawLink.request(
      hub.port,
      handshake({ headers: { 'Sec-WebSocket-Protocol': 'millrace.v9, millrace.v1' } }),
    );
    expect(await link.answer()).toMatch(/^sec-websocket-protocol: millrace\.v1\r?$/im);
  });

  it('that offers compression is answered without it', async () => {
    using link = RawLink.request(
      hub.port,
      handshake({ headers: { 'Sec-WebSocket-Extensions': 'permessage-deflate' } }),
    );
    const answer = await link.answer();
    expect(answer).toMatch(/^HTTP\/1.1 101 /);
    expect(answer).not.toMatch(/sec-websocket-extensions/i);
  });

  it('that is followed at once by the hello is as good', async () => {
    const hello = encodeFrame({ opcode: text, payload: JSON.stringify(rawHello()) });
    using link = RawLink.request(hub.port, `${handshake()}${hello.toString('latin1')}`);
    await link.next('welcome');
  });
});

const noHellos: readonly (readonly [string, unknown])[] = [
  ['a beat', rawBeat(1)],
  ['no JSON', 'hello'],
  ['nothing', ''],
  ['a list', []],
  ['null', 'null'],
  ['a hello without an incarnation', { ...rawHello(), incarnation: undefined }],
  ['a hello whose incarnation is another’s form', rawHello({ incarnation: 'x' })],
  ['an unknown type', { type: 'sing', id: 1 }],
];

describe('a first message', () => {
  it.each(noHellos)('that is %s closes with 4400', async (_name, message) => {
    using link = await openRawLink(hub.port);
    link.text(message);
    expect(await link.closeCode()).toBe(closeCodes.noHello);
    await expectUndisturbed();
    await expectGone();
  });

  it('that is binary closes with 4400', async () => {
    using link = await openRawLink(hub.port);
    link.frame({ opcode: binary, payload: JSON.stringify(rawHello()) });
    expect(await link.closeCode()).toBe(closeCodes.noHello);
  });
});

const unusable: readonly (readonly [string, string, number | null, unknown])[] = [
  ['no JSON', linkFailures.invalid, null, '{"type":"beat","id":2'],
  ['an empty text', linkFailures.invalid, null, ''],
  ['a number', linkFailures.invalid, null, '7'],
  ['a list of messages', linkFailures.invalid, null, [rawBeat(2)]],
  ['a message without a type', linkFailures.invalid, 2, { id: 2 }],
  ['a type that is no text', linkFailures.invalid, 2, { type: 7, id: 2 }],
  ['an unknown type', linkFailures.unknown, 2, { type: 'sing', id: 2 }],
  ['a type that every object has', linkFailures.unknown, 2, { type: 'constructor', id: 2 }],
  ['an unknown type without an id', linkFailures.unknown, null, { type: 'sing' }],
  ['a message of a hub', linkFailures.unknown, 2, { type: 'welcome', id: 2 }],
  ['a missing field', linkFailures.invalid, 2, { type: 'beat', id: 2 }],
  ['an id that is no number', linkFailures.invalid, null, { ...rawBeat(2), id: '2' }],
  ['an id of 0', linkFailures.invalid, null, rawBeat(0)],
  ['an id that is not whole', linkFailures.invalid, null, rawBeat(1.5)],
  ['an id beyond exact numbers', linkFailures.invalid, null, rawBeat(2 ** 60)],
  [
    'a status with a NUL',
    linkFailures.invalid,
    2,
    { ...rawBeat(2), status: { ...(rawBeat(2)['status'] as object), state: 'a\0' } },
  ],
  [
    'too many rows',
    linkFailures.invalid,
    2,
    {
      type: 'started',
      id: 2,
      leases: Array.from({ length: mostRows + 1 }, () => ({
        id: '019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b',
        token: '0'.repeat(32),
      })),
    },
  ],
  ['nesting without end', linkFailures.invalid, null, `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
  ['a second hello', linkFailures.outOfOrder, 2, rawHello({ id: 2 })],
];

describe('a message that can’t be used', () => {
  it.each(unusable)(
    '(%s) is answered with %s, and the connection goes on',
    async (_name, code, re, message) => {
      using link = await welcomed();
      link.text(message);
      expect(await link.next('failed')).toMatchObject({ code, re, retryable: false });
      link.text(rawBeat(3));
      expect(await link.next('beat-ack')).toMatchObject({ re: 3 });
      await expectUndisturbed();
    },
  );

  it('and is binary is answered as one that can’t be read', async () => {
    using link = await welcomed();
    link.frame({ opcode: binary, payload: JSON.stringify(rawBeat(2)) });
    expect(await link.next('failed')).toMatchObject({ code: linkFailures.invalid, re: null });
  });

  it('has no harm in fields that nobody knows', async () => {
    using link = await welcomed();
    link.text({ ...rawBeat(2), mood: 'good', __proto__: { polluted: true } });
    expect(await link.next('beat-ack')).toMatchObject({ re: 2 });
    link.text('{"type":"beat","id":3,"__proto__":{"polluted":true},"constructor":{},"status":{}}');
    expect(await link.next('failed')).toMatchObject({ re: 3 });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('too often closes with 4429', async () => {
    using link = await welcomed();
    for (let count = 0; count <= mostBadMessages; count += 1) link.text({ type: 'sing', id: count + 2 });
    expect(await link.closeCode()).toBe(closeCodes.tooMany);
    expect(
      link.frames.filter(({ payload }) => payload.includes('unknown-message')).length,
    ).toBeGreaterThanOrEqual(mostBadMessages);
    await expectUndisturbed();
    await expectGone();
  });
});
