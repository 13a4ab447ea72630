import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cleanFileName, mostNameBytes } from './file-name.js';
import { parseFileType, typeOfName } from './file-type.js';
import { pieceOf, pieceText } from './piece-text.js';

describe('cleanFileName', () => {
  test.each([
    ['report.pdf', 'report.pdf'],
    ['Jahresbericht 2026 – Übersicht.pdf', 'Jahresbericht 2026 – Übersicht.pdf'],
    ['日本語.txt', '日本語.txt'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\Windows\\system32\\cmd.exe', 'cmd.exe'],
    ['/a/b/', 'b'],
    ['a/..', 'a'],
    ['photo\u202egnp.exe', 'photognp.exe'],
    ['a\0b\r\nc', 'abc'],
    ['a"b<c>|d?e*f:g', 'a_b_c__d_e_f_g'],
    ['.bashrc', 'bashrc'],
    ['name. . ', 'name'],
    ['CON', '_CON'],
    ['nul.txt', '_nul.txt'],
    ['com1.tar.gz', '_com1.tar.gz'],
    ['console', 'console'],
    ['a\ud800b', 'ab'],
    ['e\u0301', 'é'],
  ])('%j becomes %j', (given, expected) => {
    expect(cleanFileName(given)).toBe(expected);
  });

  test('a name without anything that can be seen is refused', () => {
    for (const name of ['', ' ', '.', '..', '/', '../..', '\u200b', '\0', undefined, null, 7, {}])
      expect(() => cleanFileName(name)).toThrow(/name of a file: expected/);
  });

  test('a long name keeps its ending and is cut between characters', () => {
    const name = cleanFileName(`${'ü'.repeat(300)}.jpeg`);
    expect(name).toMatch(/^ü+\.jpeg$/);
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(mostNameBytes);
  });

  test('whatever comes, what is left is a harmless name, and stays as it is the second time', () => {
    const anyName = fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.string({ unit: 'grapheme' }));
    fc.assert(
      fc.property(anyName, (given) => {
        let name: string;
        try {
          name = cleanFileName(given);
        } catch {
          // Nothing was left of it, which is told.
          return;
        }
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(mostNameBytes);
        expect(name).not.toMatch(/[\\/\0\r\n"<>:|?*]|^\.|[. ]$/);
        expect(cleanFileName(name)).toBe(name);
      }),
    );
  });
});

test('types are known by the ending, and given ones must be media types', () => {
  expect(typeOfName('a.PNG')).toBe('image/png');
  expect(typeOfName('a.constructor')).toBe('application/octet-stream');
  expect(typeOfName('none')).toBe('application/octet-stream');
  expect(parseFileType('Text/HTML; charset=utf-8')).toBe('text/html; charset=utf-8');
  for (const type of ['', 'text', 'text/html\r\nx: y', 'a/b; c', 7, 'text/html; a="b"'])
    expect(() => parseFileType(type)).toThrow(/media type/);
});

test('a piece is base64 with its padding, or none', () => {
  const bytes = Buffer.from([0, 255, 128, 7]);
  expect(Buffer.from(pieceOf(pieceText(bytes)) ?? [])).toEqual(bytes);
  for (const text of ['AAA', 'AA=A', '****', 'AAAA\n', 'A'.repeat(400_000)]) expect(pieceOf(text)).toBeNull();
});
