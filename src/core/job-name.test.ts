import { expect, it } from 'vitest';
import { parseJobName } from './job-name.js';

it.each(['thumbnail', 'mail/send', 'page.capture', 'x'.repeat(100)])('takes %j', (name) => {
  expect(parseJobName(name)).toBe(name);
});

it.each(['', 'x'.repeat(101), 'a b', 'a,b', 'ä', 'a\n', 5, null, undefined])('refuses %j', (name) => {
  expect(() => parseJobName(name)).toThrowError(expect.objectContaining({ code: 'job-name-invalid' }));
});
