/** PROTOCOL.md and the schemas say the same: whoever writes a worker by the one meets a hub that was built by the other. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { hubMessage } from '../../src/protocol/hub-messages.js';
import * as linkTerms from '../../src/protocol/link-terms.js';
import { workerMessage } from '../../src/protocol/worker-messages.js';
import { hubTerms, shapeTerms, type Term, workerTerms } from '../support/protocol-terms.js';

const text = readFileSync(new URL('../../src/protocol/PROTOCOL.md', import.meta.url), 'utf8');

/** What stands below a heading, up to the next of its level or above. */
function sectionOf(number: number): string {
  const start = text.indexOf(`\n## ${number}. `);
  const end = text.indexOf('\n## ', start + 1);
  return text.slice(start, end === -1 ? undefined : end);
}

const rowsOf = (section: string): string[][] =>
  section
    .split('\n')
    .filter((line) => line.startsWith('|') && !line.startsWith('|---'))
    .slice(1)
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );

const unquoted = (cell: string | undefined): string => (cell ?? '').replaceAll('`', '');

/** The tables below headings like "### 7.2 `settle`". */
function termsIn(number: number): Term[] {
  return sectionOf(number)
    .split('\n### ')
    .slice(1)
    .flatMap((part) => {
      const name = /^\d+\.\d+ `([^`]+)`/.exec(part)?.[1];
      if (name === undefined) throw new Error(`a heading without a name: ${part.slice(0, 60)}`);
      const fields = rowsOf(part).map(([field, type]) => ({ field: unquoted(field), type: type ?? '' }));
      return [{ name, fields }];
    });
}

const inOrder = (terms: readonly Term[]): Term[] => terms.toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** An entry of a JSON text inside a field: no schema of the link reads it. */
const proseShapes = new Set(['attemptFailure']);

describe('PROTOCOL.md', () => {
  it('names every message of a worker with its fields and their types, and no other', () => {
    expect(inOrder(termsIn(7))).toEqual(inOrder(workerTerms()));
  });

  it('names every message of a hub with its fields and their types, and no other', () => {
    expect(inOrder(termsIn(10))).toEqual(inOrder(hubTerms()));
  });

  it('names every shape with its fields and their types, and no other', () => {
    const told = termsIn(6).filter(({ name }) => !proseShapes.has(name));
    expect(inOrder(told)).toEqual(inOrder(shapeTerms()));
  });

  it('names every close code, and no other', () => {
    const told = rowsOf(sectionOf(13)).map(([code, name]) => [unquoted(name), Number(code)]);
    expect(Object.fromEntries(told)).toEqual(linkTerms.closeCodes);
  });

  it('names every code of a failure of the link, and no other', () => {
    const beforeMessages = sectionOf(10).split('\n### ')[0] ?? '';
    const told = rowsOf(beforeMessages).map(([code]) => unquoted(code));
    expect(told.toSorted()).toEqual(Object.values(linkTerms.linkFailures).toSorted());
  });

  it('names every limit with its value', () => {
    const told = rowsOf(sectionOf(12)).map(([name, value]) => [
      unquoted(name),
      Number(value?.replaceAll(',', '')),
    ]);
    const limits = Object.entries(linkTerms).filter(([, value]) => typeof value === 'number');
    expect(Object.fromEntries(told)).toEqual(Object.fromEntries(limits));
  });

  it('has a trace of messages that the schemas read as they stand', () => {
    const lines = sectionOf(16)
      .split('\n')
      .filter((line) => /^[<>] \{/.test(line));
    expect(lines.length).toBeGreaterThan(20);
    for (const line of lines) {
      const message: unknown = JSON.parse(line.slice(2));
      const isUnknownOnPurpose = line.includes('"type":"sing"');
      const parsed = (line.startsWith('>') ? workerMessage : hubMessage).safeParse(message);
      expect(parsed.success, line).toBe(!isUnknownOnPurpose);
      // A field that the schema does not know would have been dropped.
      if (parsed.success) expect(parsed.data).toEqual(message);
    }
  });

  it('refers to sections that exist', () => {
    const named = [...text.matchAll(/\((\d+(?:\.\d+)?)(?:, (\d+(?:\.\d+)?))?\)/g)].flatMap(([, a, b]) => [
      a,
      b,
    ]);
    const sections = new Set(
      [...text.matchAll(/^(?:#+ )?(\d+(?:\.\d+)?)\.? /gm)].map(([, number]) => number),
    );
    const missing = named.filter((number) => number !== undefined && !sections.has(number));
    expect(missing).toEqual([]);
  });
});
