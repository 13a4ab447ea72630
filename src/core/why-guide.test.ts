import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { reasonCodes } from './why-facts.js';

test('the guide names every reason, and no other', () => {
  const guide = readFileSync(new URL('../../docs/guides/why.md', import.meta.url), 'utf8');
  const rows = guide.split('\n').filter((line) => line.startsWith('| `'));
  const named = rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`([a-z-]+)`/g)].map((match) => match[1]),
  );
  expect(named.sort()).toEqual(Object.keys(reasonCodes).sort());
});
