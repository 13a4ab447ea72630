import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
// @ts-expect-error the benchmark is plain JavaScript
import { reportBrowser } from '../../../bench/browser/report.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));

it('the benchmark of browser lanes takes no option of another run', () => {
  const run = spawnSync(process.execPath, ['bench/run.mjs', '--browser', '--engine', 'sqlite'], {
    cwd: root,
    encoding: 'utf8',
    timeout: 15_000,
  });
  expect(run.status).toBe(2);
  expect(run.stderr).toContain('--engine: expected without --browser');
});

it('its report sets each crawler beside bare Playwright, and says what failed', () => {
  const crawl = (crawler: string, width: number, msPerPage: number) => ({
    ...{ work: 'crawl', kind: 'readmes', crawler, width, msPerPage },
    perMinute: (60_000 / msPerPage) * width,
  });
  const text: string = reportBrowser([
    { work: 'conditions', machine: 'a machine', node: 'v20', date: '2026-12-01', quick: false },
    ...[120, 100, 80].map((ms) => crawl('millrace', 1, ms)),
    crawl('millrace', 2, 120),
    crawl('playwright', 1, 75),
    crawl('playwright', 2, 75),
    { work: 'crawl', kind: 'readmes', crawler: 'crawlee', width: 1, problems: ['it broke'] },
    { work: 'kill-ready', n: 40, p50: 300, p95: 450, max: 1_200 },
    { work: 'memory', jobs: 500, beforeMb: 120, afterMb: 131 },
  ]);
  expect(text).toContain('| millrace | 600 | 1000 | 25.0 |');
  expect(text).toContain('| playwright | 800 | 1600 | 0.0 |');
  expect(text).toContain('| crawlee | failed: it broke | failed: not measured | – |');
  expect(text).toContain('| killed under a job → takes the next | 40 | 0.30 s | 0.45 s | 1.20 s |');
  expect(text).toContain('after 5 jobs: 120 MB; after 500 more: 131 MB');
});
