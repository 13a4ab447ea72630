import { describe, expect, it } from 'vitest';
// @ts-expect-error the benchmark is plain JavaScript
import { report as render } from '../../../bench/report.mjs';
// @ts-expect-error the benchmark is plain JavaScript
import { mergeRuns } from '../../../bench/rows.mjs';

type Row = Record<string, unknown>;

const report = (rows: readonly Row[]): string => render(rows) as string;

const conditions: Row = {
  run: 'peers',
  work: 'conditions',
  machine: '2 × Example',
  node: 'v20.20.2',
  millrace: '0.1.0',
  date: '2026-01-01',
  reps: 2,
  quick: false,
  sizes: { n: 20_000, slow: 3_000, backlog: 200_000, cutMs: 6_000 },
};
const about = (queue: string, more: Row = {}): Row => ({
  run: 'peers',
  work: 'queue',
  queue,
  title: queue,
  engine: 'postgres',
  isOurs: false,
  version: '1.2.3',
  store: 'PostgreSQL 15',
  durability: 'fsync=on',
  options: 'as advised',
  lacks: ['keeps no history'],
  jobs: 3_000,
  reps: 1,
  ...more,
});
const ours = about('millrace-postgres', { title: 'Millrace', isOurs: true, version: null, lacks: [] });
const measured = (queue: string, work: string, rep: number, more: Row): Row => ({
  run: 'peers',
  queue,
  work,
  rep,
  problems: [],
  others: 0,
  ...more,
});
const drains = (queue: string, rates: number[], more: Row = {}): Row[] =>
  rates.map((perSec, index) =>
    measured(queue, 'drain', index + 1, { concurrency: 10, processes: 1, perSec, ...more }),
  );

/** The cells of the first table line that begins with this name. */
function cellsOf(text: string, name: string, table = 'jobs/s'): string[] {
  const [, rest = ''] = text.split(`: ${table}\n`);
  const line = rest.split('\n').find((candidate) => candidate.startsWith(`| ${name}`)) ?? '';
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

describe('the report of other queues beside ours', () => {
  it('shows each as a share of ours, repetition by repetition, the better ones in bold', () => {
    const text = report([
      conditions,
      ours,
      about('slower'),
      about('faster'),
      ...drains('millrace-postgres', [10_000, 40_000]),
      ...drains('slower', [5_000, 20_000]),
      ...drains('faster', [20_000, 60_000]),
    ]);
    expect(cellsOf(text, '**Millrace**')[5]).toBe('25,000');
    expect(cellsOf(text, 'slower 1.2.3')[5]).toBe('12,500 (0.50)');
    expect(cellsOf(text, 'faster 1.2.3')[5]).toBe('40,000 (**1.75**)');
  });

  it('turns the share of a latency over, so that more is better there too', () => {
    const picked = (queue: string, p50: number): Row =>
      measured(queue, 'latency', 1, { processes: 1, p50, p99: p50 * 2 });
    const text = report([
      conditions,
      ours,
      about('quick'),
      picked('millrace-postgres', 2),
      picked('quick', 1),
    ]);
    expect(cellsOf(text, 'quick', 'pick-up on an idle queue, ms')[1]).toBe('1.00 (**2.00**)');
  });

  it('says of a row why it has no figure, and marks one that was cut or measured beside others', () => {
    const failed = measured('broken', 'drain', 1, {
      concurrency: 10,
      processes: 1,
      perSec: 1,
      problems: ['1 of 5 jobs handled more than once'],
    });
    const text = report([
      conditions,
      ours,
      about('broken'),
      about('crawling'),
      about('absent', { missing: 'no Redis at 127.0.0.1:6379' }),
      ...drains('millrace-postgres', [10_000]),
      failed,
      ...drains('crawling', [100], { isTimeout: true, others: 0.9 }),
      { run: 'peers', queue: 'crawling', work: 'backlog', rep: 1, skipped: 'loading takes minutes' },
    ]);
    expect(cellsOf(text, 'broken')[5]).toBe('failed');
    expect(text).toContain(
      '**failed**: broken drain, c = 10, repetition 1: 1 of 5 jobs handled more than once',
    );
    expect(cellsOf(text, 'crawling')[5]).toBe('100* (0.01, cut)');
    expect(cellsOf(text, 'crawling')[8]).toBe('left out');
    expect(cellsOf(text, 'absent')).toEqual([]);
    expect(text).toContain('- **absent 1.2.3**: not measured: no Redis at 127.0.0.1:6379.');
    expect(text).toContain(
      'Measured with 3,000 jobs, once. Keeps no history. Backlog: loading takes minutes.',
    );
  });

  it('asks for a run where there was none', () => {
    expect(report([])).toContain('`npm run bench -- --peers --save`');
  });

  it('a run replaces the one of its kind in what is saved, and leaves the other', () => {
    const saved = [{ work: 'conditions' }, { work: 'raw' }, conditions, ours];
    const peers = [conditions, about('new')];
    const engines = [{ work: 'conditions', date: 'today' }];
    expect(mergeRuns(saved, peers)).toEqual([{ work: 'conditions' }, { work: 'raw' }, ...peers]);
    expect(mergeRuns(saved, engines)).toEqual([...engines, conditions, ours]);
  });
});
