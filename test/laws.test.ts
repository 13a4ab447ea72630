import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../', import.meta.url));
const page = readFileSync(new URL('./laws.md', import.meta.url), 'utf8');
const entry = /^- `([^`]+)`: (.+)$/;

interface Promised {
  readonly heading: string;
  readonly tests: { readonly file: string; readonly name: string }[];
}

function promises(): Promised[] {
  const found: Promised[] = [];
  for (const line of page.split('\n')) {
    if (line.startsWith('### ')) found.push({ heading: line.slice(4), tests: [] });
    const [, file, name] = entry.exec(line) ?? [];
    if (file !== undefined && name !== undefined) found.at(-1)?.tests.push({ file, name });
  }
  return found;
}

function hasTest(file: string, name: string): boolean {
  try {
    return readFileSync(`${root}${file}`, 'utf8').includes(name);
  } catch {
    // The file is not there.
    return false;
  }
}

test('every promise has a test, and every test it names is there', () => {
  const all = promises();
  expect(all.length).toBeGreaterThan(30);
  expect(all.filter(({ tests }) => tests.length === 0).map(({ heading }) => heading)).toEqual([]);
  const missing = all.flatMap(({ heading, tests }) =>
    tests
      .filter(({ file, name }) => !hasTest(file, name))
      .map(({ file, name }) => `${heading}: ${file}: ${name}`),
  );
  expect(missing).toEqual([]);
});

test('every line of a promise is a test or says what is not yet there', () => {
  const lines = page.split('\n').filter((line) => line.startsWith('- '));
  expect(lines.filter((line) => !entry.test(line) && !line.startsWith('- Not yet: '))).toEqual([]);
});
