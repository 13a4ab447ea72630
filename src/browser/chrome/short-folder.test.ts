import { expect, test } from 'vitest';
import { shortFolder } from './short-folder.js';

test.each([
  ['/tmp/millrace-1000', '/tmp/millrace-1000'],
  ['/var/folders/xx/yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy/T/millrace-501', '/tmp/millrace-501'],
  [`/srv/${'ü'.repeat(12)}/millrace-0`, '/tmp/millrace-0'],
  ['/srv/tmp/millrace-0', '/srv/tmp/millrace-0'],
])('Chrome can make its socket in what stands for %s', (given, used) => {
  expect(shortFolder(given)).toBe(used);
});
