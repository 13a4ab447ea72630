import { median } from '../statistics.mjs';

/** Markdown of the rows of a run with --browser. */
export function reportBrowser(rows) {
  const of = (work) => rows.filter((row) => row.work === work);
  const [conditions] = of('conditions');
  const [chrome] = of('chrome');
  return [
    '# Browser lanes, measured',
    '',
    `${conditions?.machine}; Node ${conditions?.node}; ${chrome?.chrome}; ${conditions?.date}${conditions?.quick ? '; `--quick`: says nothing of speed' : ''}.`,
    'Each page is opened in a context of its own, drawn as a JPEG and closed; only Millrace keeps jobs and results in a database.',
    '',
    ...crawls(of('crawl')),
    '',
    '| a lane, when Chrome fails | n | p50 | p95 | longest |',
    '|---|---|---|---|---|',
    line('killed under a job → takes the next', of('kill-ready')[0]),
    line('Chrome stands still → noticed', of('frozen-chrome')[0]),
    line('a page stands still → its job ended', of('frozen-page')[0]),
    '',
    ...of('memory').map(
      ({ jobs, beforeMb, afterMb }) =>
        `Memory of a Chrome (PSS) after 5 jobs: ${beforeMb.toFixed(0)} MB; after ${jobs} more: ${afterMb.toFixed(0)} MB.`,
    ),
    '',
  ].join('\n');
}

function crawls(rows) {
  const kinds = [...new Set(rows.map(({ kind }) => kind))];
  return kinds.flatMap((kind) => {
    const of = (crawler, width) =>
      rows.filter((row) => row.kind === kind && row.crawler === crawler && row.width === width);
    const value = (crawler, width, field) => {
      const values = of(crawler, width).flatMap((row) => row[field] ?? []);
      return values.length === 0 ? null : median(values);
    };
    const bare = value('playwright', 1, 'msPerPage');
    const crawlers = [...new Set(rows.map(({ crawler }) => crawler))];
    return [
      `| ${kind}: pages a minute | 1 lane | 2 lanes | over bare Playwright, ms a page |`,
      '|---|---|---|---|',
      ...crawlers.map((crawler) => {
        const each = value(crawler, 1, 'msPerPage');
        const over = each === null || bare === null ? '–' : (each - bare).toFixed(1);
        const rate = (width) =>
          value(crawler, width, 'perMinute')?.toFixed(0) ?? `failed: ${problem(of(crawler, width))}`;
        return `| ${crawler} | ${rate(1)} | ${rate(2)} | ${over} |`;
      }),
      '',
    ];
  });
}

const problem = (rows) => rows.flatMap(({ problems = [] }) => problems)[0] ?? 'not measured';

function line(what, row) {
  if (row === undefined) return `| ${what} | – | – | – | – |`;
  const seconds = (ms) => `${(ms / 1_000).toFixed(2)} s`;
  return `| ${what} | ${row.n} | ${seconds(row.p50)} | ${seconds(row.p95)} | ${seconds(row.max)} |`;
}
