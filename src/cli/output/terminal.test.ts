import { expect, test } from 'vitest';
import { relativeTime, shortDuration } from './relative-time.js';
import { wantsColours } from './style.js';
import { Terminal } from './terminal.js';

function terminalWith(options: {
  isTTY?: boolean;
  columns?: number;
  env?: Record<string, string>;
  isJson?: boolean;
}) {
  const written = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({
    ...(options.isTTY === undefined ? {} : { isTTY: options.isTTY }),
    ...(options.columns === undefined ? {} : { columns: options.columns }),
    write: (text: string) => {
      written[name] += text;
    },
  });
  const { env = {}, isJson = false } = options;
  const terminal = new Terminal({ stdout: stream('stdout'), stderr: stream('stderr'), env, isJson });
  return { terminal, written };
}

test('colours only on a terminal that wants them', () => {
  expect(wantsColours(true, {})).toBe(true);
  expect(wantsColours(false, {})).toBe(false);
  expect(wantsColours(true, { NO_COLOR: '1' })).toBe(false);
  expect(wantsColours(true, { NO_COLOR: '' })).toBe(true);
  expect(wantsColours(true, { TERM: 'dumb' })).toBe(false);
});

test('the width is that of COLUMNS, then of the terminal; a pipe has none', () => {
  expect(terminalWith({ isTTY: true, columns: 120 }).terminal.width).toBe(120);
  expect(terminalWith({ isTTY: true, columns: 120, env: { COLUMNS: '90' } }).terminal.width).toBe(90);
  expect(terminalWith({}).terminal.width).toBe(Number.POSITIVE_INFINITY);
});

test('an answer in JSON is one document; notes and progress stay on stderr', () => {
  const { terminal, written } = terminalWith({ isTTY: true, isJson: true });
  terminal.progress('10 of 20');
  terminal.note('half of it');
  terminal.answer({ ok: true }, () => terminal.line('for people'));
  expect(JSON.parse(written.stdout)).toEqual({ ok: true });
  expect(written.stderr).toBe('\r\u001b[K10 of 20\r\u001b[Khalf of it\n');
});

test('no progress is drawn where no terminal reads it', () => {
  const { terminal, written } = terminalWith({});
  terminal.progress('10 of 20');
  terminal.endProgress();
  expect(written.stderr).toBe('');
});

test.each([
  [0, '0ms'],
  [999, '999ms'],
  [1000, '1.0s'],
  [9999, '9.9s'],
  [59_999, '59s'],
  [60_000, '1m'],
  [86_400_000, '1d'],
])('%i ms is %s', (ms, text) => {
  expect(shortDuration(ms)).toBe(text);
});

test('moments before and after', () => {
  expect(relativeTime(5000, 5000)).toBe('just now');
  expect(relativeTime(0, 3_700_000)).toBe('1h ago');
  expect(relativeTime(125_000, 0)).toBe('in 2m');
});
