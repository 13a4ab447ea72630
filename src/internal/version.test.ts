import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { version } from './version.js';

test('the version in the code is that of the package', () => {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(manifest).toMatchObject({ version });
});
