import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { hasErrorCode } from '../internal/errors.js';
import { decodeInput } from './codec.js';
import { defineJob } from './define-job.js';
import { versionOf } from './job-definition.js';
import { isNonRetriable } from './outcomes.js';
import { liftPayload } from './upcast.js';

const mail = defineJob('mail', {
  input: z.object({ to: z.array(z.string()), html: z.boolean() }),
  upcast: [
    ({ to }: { to: string }) => ({ to: [to] }),
    async (v2: { to: string[] }) => Promise.resolve({ ...v2, html: false }),
  ],
});

describe('payloads of earlier versions', () => {
  it('are lifted from their version on, then validated', async () => {
    expect(versionOf(mail)).toBe(3);
    const lifted = { to: ['a@b.c'], html: false };
    expect(await decodeInput(mail, '{"to":"a@b.c"}', 1)).toEqual(lifted);
    expect(await decodeInput(mail, '{"to":["a@b.c"]}', 2)).toEqual(lifted);
    expect(await decodeInput(mail, '{"to":["a@b.c"],"html":false}', 3)).toEqual(lifted);
    expect(await decodeInput(mail, '{"to":["a@b.c"],"html":true}')).toMatchObject({ html: true });
  });

  it('that do not fit the schema once lifted are refused for good', async () => {
    const error: unknown = await Promise.resolve(decodeInput(mail, '{"to":5}', 1)).catch(
      (why: unknown) => why,
    );
    expect(hasErrorCode(error, 'payload-invalid')).toBe(true);
    expect(isNonRetriable(error)).toBe(true);
  });

  it('whose lift throws fail like any attempt, with the step and the cause', async () => {
    const cause = new TypeError('no such field');
    const broken = defineJob('broken', {
      upcast: [
        (value: unknown) => value,
        () => {
          throw cause;
        },
      ],
    });
    expect(() => liftPayload(broken, {}, 1)).toThrow('the lift from version 2 to 3 failed: no such field');
    const late = defineJob('late', { upcast: [() => Promise.reject(cause)] });
    const error: unknown = await Promise.resolve(decodeInput(late, '{}', 1)).catch((why: unknown) => why);
    expect(error).toMatchObject({ code: 'upcast-failed', cause });
    expect(isNonRetriable(error)).toBe(false);
  });

  it('need a list of functions', () => {
    expect(() => defineJob('x', { upcast: [1] as never })).toThrow(
      /option "upcast": expected a list of functions/,
    );
    expect(() => defineJob('x', { upcast: (() => 1) as never })).toThrow(/option "upcast"/);
  });
});
