import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { hasErrorCode } from '../internal/errors.js';
import { decodeInput, decodeOutput, encodeInput, encodeOutput } from './codec.js';
import { defineJob } from './define-job.js';
import { isNonRetriable } from './outcomes.js';

const maxBytes = 1024;
const asyncText = z.string().refine(async (text) => Promise.resolve(text !== 'no'), 'not this one');

async function errorOf(run: () => unknown): Promise<unknown> {
  try {
    await run();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('the input of a job', () => {
  const job = defineJob('resize', {
    input: z.object({ width: z.string().transform(Number), tag: z.string().default('none') }),
  });

  it('is stored as it was given, and made anew by the schema where it runs', () => {
    const text = encodeInput(job, { width: '5' }, maxBytes);
    expect(text).toBe('{"width":"5"}');
    expect(decodeInput(job, text as string)).toEqual({ width: 5, tag: 'none' });
  });

  it('is refused at dispatch with the path of every issue', async () => {
    const error = await errorOf(() => encodeInput(job, { width: 5, tag: 6 }, maxBytes));
    expect(hasErrorCode(error, 'payload-invalid')).toBe(true);
    expect(String(error)).toMatch(/input of job "resize" .*\$\.width: .*; \$\.tag: /s);
  });

  it('is refused at dispatch when only what JSON makes of it would be refused later', async () => {
    const dated = defineJob('dated', { input: z.object({ at: z.date() }) });
    expect(await errorOf(() => encodeInput(dated, { at: new Date() }, maxBytes))).toMatchObject({
      code: 'payload-invalid',
    });
    const coerced = defineJob('coerced', { input: z.object({ at: z.coerce.date() }) });
    const text = encodeInput(coerced, { at: new Date(5) }, maxBytes) as string;
    expect(decodeInput(coerced, text)).toEqual({ at: new Date(5) });
  });

  it('may be validated asynchronously', async () => {
    const slow = defineJob('slow', { input: asyncText });
    expect(await encodeInput(slow, 'yes', maxBytes)).toBe('"yes"');
    expect(await errorOf(() => encodeInput(slow, 'no', maxBytes))).toMatchObject({ code: 'payload-invalid' });
    expect(await decodeInput(slow, '"yes"')).toBe('yes');
    expect(isNonRetriable(await errorOf(() => decodeInput(slow, '"no"')))).toBe(true);
  });

  it('can be left out where the schema says so, or where there is none', () => {
    const optional = defineJob('optional', { input: z.object({ a: z.number() }).optional() });
    const text = encodeInput(optional, undefined, maxBytes) as string;
    expect(decodeInput(optional, text)).toBeUndefined();
    const nullable = defineJob('nullable', { input: z.null() });
    expect(decodeInput(nullable, 'null')).toBeNull();
    expect(
      decodeInput(defineJob('any', {}), encodeInput(defineJob('any', {}), undefined, 9) as string),
    ).toBeNull();
  });

  it('fails for good where the schema of the day no longer accepts it, or the text is damaged', async () => {
    for (const payload of ['{"width":5}', '{"width":']) {
      const error = await errorOf(() => decodeInput(job, payload));
      expect(hasErrorCode(error, 'payload-invalid')).toBe(true);
      expect(isNonRetriable(error)).toBe(true);
    }
  });

  it('may be tried again where the schema itself broke down', async () => {
    const broken = defineJob('broken', {
      input: z.string().refine(() => {
        throw new Error('database away');
      }),
    });
    const error = await errorOf(() => decodeInput(broken, '"x"'));
    expect(error).toMatchObject({ message: 'database away' });
    expect(isNonRetriable(error)).toBe(false);
  });

  it('above the limit is refused', async () => {
    expect(await errorOf(() => encodeInput(defineJob('a', {}), 'x'.repeat(2000), maxBytes))).toMatchObject({
      code: 'payload-too-large',
    });
  });
});

describe('the result of a job', () => {
  it('is stored as JSON, nothing as nothing, and null as null', () => {
    const job = defineJob('a', {});
    expect(encodeOutput(job, { a: new Date(0) }, maxBytes)).toMatchObject({
      text: '{"a":"1970-01-01T00:00:00.000Z"}',
    });
    expect(encodeOutput(job, undefined, maxBytes)).toEqual({ text: null });
    expect(decodeOutput(null, 'x')).toBeUndefined();
    expect(decodeOutput('null', 'x')).toBeNull();
  });

  it('goes through the output schema, which may transform it', async () => {
    const job = defineJob('a', { output: z.object({ n: z.coerce.string() }) });
    expect(encodeOutput(job, { n: 5, secret: 1 }, maxBytes)).toMatchObject({ text: '{"n":"5"}' });
    const strict = defineJob('b', { output: z.number() });
    const error = await errorOf(() => encodeOutput(strict, 'five', maxBytes));
    expect(error).toMatchObject({ code: 'result-invalid' });
    expect(isNonRetriable(error)).toBe(false);
    expect(await encodeOutput(defineJob('c', { output: asyncText }), 'yes', maxBytes)).toMatchObject({
      text: '"yes"',
    });
  });
});
