import { expect, test } from 'vitest';
import { parseTags } from './job-tags.js';

test('tags are sorted, each once', () => {
  expect(parseTags(['b', 'a', 'b', 'A/1'])).toEqual(['A/1', 'a', 'b']);
  expect(parseTags([])).toEqual([]);
});

test('what is no list of up to ten tags is refused with what was wrong', () => {
  const many = Array.from({ length: 11 }, (_, index) => `t${index}`);
  expect(() => parseTags(many, 'option "tags"')).toThrow('option "tags": expected at most 10, got 11');
  for (const wrong of ['a', null, ['with space'], [''], ['x'.repeat(101)], [1]]) {
    expect(() => parseTags(wrong)).toThrow(/^tags: expected/);
  }
});
