import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { MillraceError } from '../internal/errors.js';
import { defineJob } from './define-job.js';
import { isJobDefinition } from './job-definition.js';

function problemsOf(name: string, options: object): { code: string; problems: unknown; message: string } {
  try {
    defineJob(name, options as never);
  } catch (error) {
    if (error instanceof MillraceError) {
      return { code: error.code, problems: error.details['problems'], message: error.message };
    }
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('defineJob', () => {
  it('resolves what it is given and leaves the rest to the settings', () => {
    const job = defineJob('mail/send', {
      queue: 'mail',
      priority: 'high',
      attempts: 7,
      backoff: 'fixed',
      timeout: '30s',
      lane: 'process',
      retention: '1d',
      unique: { period: '1h' },
      run: () => 1,
    });
    expect(job).toMatchObject({
      name: 'mail/send',
      queue: 'mail',
      priority: 10,
      maxAttempts: 7,
      backoff: { type: 'fixed', baseMs: 5000 },
      timeoutMs: 30_000,
      lane: 'process',
      retentionMs: 86_400_000,
      unique: { key: null, scope: 'period', periodMs: 3_600_000 },
    });
    expect(defineJob('bare', {})).toMatchObject({
      queue: undefined,
      maxAttempts: undefined,
      lane: 'inline',
      unique: null,
    });
  });

  it('makes a frozen definition that is known by its mark', () => {
    const job = defineJob('a', { run: () => 1 });
    expect(Object.isFrozen(job)).toBe(true);
    expect(isJobDefinition(job)).toBe(true);
    expect(isJobDefinition({ ...job })).toBe(false);
  });

  it('lists every problem at once', () => {
    const { code, problems } = problemsOf('a', {
      attempts: 0,
      timeout: '30',
      priority: 'higher',
      quue: 'x',
      lane: 'thread',
      input: {},
      run: 5,
      unique: { while: 'running', period: 5, on: 1 },
    });
    expect(code).toBe('option-invalid');
    expect(problems).toHaveLength(10);
    expect(String(problems)).toMatch(/no option "quue". Did you mean "queue"\?/);
    expect(String(problems)).toMatch(
      /option "lane": expected one of 'inline', 'process', 'browser', got "thread"/,
    );
    expect(String(problems)).toMatch(/"unique.on"/);
    expect(String(problems)).toMatch(/contradict/);
  });

  it('has one code where all problems are of one kind', () => {
    expect(problemsOf('a', { tags: [], tx: 1 })).toMatchObject({ code: 'option-unknown' });
    expect(problemsOf('a', { queue: 'no spaces' })).toMatchObject({ code: 'queue-name-invalid' });
    expect(problemsOf('no spaces', {})).toMatchObject({ code: 'job-name-invalid' });
    expect(problemsOf('a', null as never).message).toContain('expected an object, got null');
  });

  it('takes schemas that are functions, as some libraries make them', () => {
    const { '~standard': standard } = z.string();
    const callable = Object.assign(() => undefined, { '~standard': standard });
    expect(defineJob('a', { input: callable as never }).inputSchema).toBe(callable);
  });
});
