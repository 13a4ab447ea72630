/* The tables of a run with --peers: what each queue reached, and what that is of ours beside it. */
import { count, ratio, table } from './format.mjs';

const RATES = [
  ['one by one', 'one-by-one'],
  ['50 in flight', 'in-flight'],
  ['bulk', 'bulk'],
  ['drain c = 1', 'drain', { concurrency: 1, processes: 1 }],
  ['c = 10', 'drain', { concurrency: 10, processes: 1 }],
  ['c = 100', 'drain', { concurrency: 100, processes: 1 }],
  ['two × 10', 'drain', { concurrency: 10, processes: 2 }],
  ['first of a backlog', 'backlog'],
];

const PICK_UPS = [
  ['one process, p50', 1, 'p50'],
  ['p99', 1, 'p99'],
  ['two processes, p50', 2, 'p50'],
  ['p99', 2, 'p99'],
];

const BESIDE = {
  postgres: 'Beside ours on PostgreSQL',
  'sqlite-normal': 'Beside ours on SQLite, synchronous=NORMAL',
  'sqlite-full': 'Beside ours on SQLite, synchronous=FULL (default)',
};

export function peerReport(peers) {
  if (peers.isEmpty) {
    return [
      '## Beside other queues\n\nNot measured with this version yet: `npm run bench -- --peers --save` does.',
    ];
  }
  const engines = [...new Set(peers.queues.map(({ engine }) => engine))];
  return [
    opening(peers),
    ...engines.flatMap((engine) => [ratesOf(peers, engine), pickUpsOf(peers, engine)]),
    queueList(peers),
    outcome(peers),
  ].filter((part) => part !== '');
}

function opening(peers) {
  const { machine, node, millrace, date, reps, quick, sizes } = peers.conditions;
  return [
    '## Beside other queues',
    '',
    ...(quick ? ['**A quick run: it shows that the benchmark works and says nothing of speed.**', ''] : []),
    `Written by \`npm run bench -- --peers --save\`: Millrace ${millrace}, ${date}, ${reps} repetition${reps === 1 ? '' : 's'}, ${peers.minutes?.toFixed(0) ?? '?'} minutes; ${machine}; Node ${node}.`,
    '',
    'Every queue, ours too, goes through the same operations by an adapter of its own in `bench/peers/adapters`, set as its documentation advises for throughput; they take turns at each measurement, on the same servers. A drain is timed from just before the worker starts until the store holds no unfinished job.',
    '',
    `In brackets: of ours beside it, the median of the repetitions, each against the one in its own turn. 1.00 is level and **more than 1.00, in bold, is better than ours**, of latencies too. A star: measured while other programs used the machine. \`cut\`: not done after ${sizes.cutMs / 1_000} s, and the rate is that of the time. Jobs: ${count(sizes.n)} a drain and a bulk, fewer for the slow ones, which get one repetition (see the list); the first ${count(sizes.n)} of a backlog of ${count(sizes.backlog)}.`,
  ].join('\n');
}

function ratesOf(peers, engine) {
  const rows = measured(peers, engine).map((queue) => [
    nameOf(queue),
    ...RATES.map(([, work, about]) => rateCell(peers, queue, work, about)),
  ]);
  if (rows.length === 0) return '';
  return `### ${BESIDE[engine]}: jobs/s\n\n${table(['queue', ...RATES.map(([title]) => title)], rows)}`;
}

function pickUpsOf(peers, engine) {
  const rows = measured(peers, engine).map((queue) => [
    nameOf(queue),
    ...PICK_UPS.map(([, processes, share]) => pickUpCell(peers, queue, processes, share)),
  ]);
  if (rows.length === 0) return '';
  return `### ${BESIDE[engine]}: pick-up on an idle queue, ms\n\n${table(['queue', ...PICK_UPS.map(([title]) => title)], rows)}`;
}

const measured = (peers, engine) =>
  peers.queues.filter((queue) => queue.engine === engine && queue.missing === undefined);

function nameOf({ title, version, isOurs, store }) {
  return isOurs ? `**${title}** (${store})` : `${title} ${version} (${store})`;
}

function rateCell(peers, queue, work, about) {
  const value = peers.values(queue.queue, work, about);
  if (value === null) return whyNot(peers, queue.queue, work, about);
  const cut = peers.isCut(queue.queue, work, about) ? ', cut' : '';
  const text = `${count(value.median)}${value.isNoisy ? '*' : ''}`;
  if (queue.isOurs) return `${text}${cut && ` (${cut.slice(2)})`}`;
  const ours = peers.oursOn(queue.engine)?.queue;
  return `${text} (${shareOf(peers.ratio([queue.queue, ours], work, about))}${cut})`;
}

function pickUpCell(peers, queue, processes, share) {
  const read = (row) => row[share];
  const about = { processes };
  const value = peers.values(queue.queue, 'latency', about, read);
  if (value === null) return whyNot(peers, queue.queue, 'latency', about);
  const text = `${ratio(value.median)}${value.isNoisy ? '*' : ''}`;
  if (queue.isOurs) return text;
  const ours = peers.oursOn(queue.engine)?.queue;
  return `${text} (${shareOf(peers.ratio([ours, queue.queue], 'latency', about, read))})`;
}

function shareOf(found) {
  if (found === null) return 'ours not measured';
  const text = ratio(found.median);
  return found.median > 1 ? `**${text}**` : text;
}

function whyNot(peers, name, work, about = {}) {
  const isOf = (row) =>
    row.work === work && Object.entries(about).every(([key, value]) => row[key] === value);
  if (peers.skipped(name).some(isOf)) return 'left out';
  return peers.failed.some((row) => row.queue === name && isOf(row)) ? 'failed' : '–';
}

function queueList(peers) {
  const lines = peers.queues.map((queue) => {
    const name = queue.isOurs
      ? `Millrace on ${queue.engine}`
      : `${queue.title} ${queue.version ?? ''}`.trim();
    if (queue.missing !== undefined) return `- **${name}**: not measured: ${queue.missing}.`;
    const skipped = [
      ...new Set(peers.skipped(queue.queue).map(({ work, skipped: why }) => `${work}: ${why}`)),
    ];
    const lacks = [...queue.lacks, ...skipped].map((lack) => `${lack}.`).map(capitalised);
    const amount = `${count(queue.jobs)} jobs, ${queue.reps === 1 ? 'once' : `${queue.reps} times`}`;
    const settings = `${queue.store}, ${queue.durability}. Set: ${queue.options}. Measured with ${amount}.`;
    return `- **${name}**: ${settings} ${lacks.join(' ')}`.trimEnd();
  });
  return `### How each is set, and what to know before comparing\n\n${lines.join('\n')}`;
}

const capitalised = (text) => text[0].toUpperCase() + text.slice(1);

function outcome(peers) {
  if (peers.failed.length === 0) {
    return 'Every queue handled each job of its drains exactly once, as far as they were not cut; no crash was provoked.';
  }
  const lines = peers.failed.map(
    ({ queue, work, rep, concurrency, processes, problems }) =>
      `- **failed**: ${queue} ${work}${concurrency === undefined ? '' : `, c = ${concurrency}`}${processes === 2 ? ', two processes' : ''}, repetition ${rep}: ${problems.join('; ')}`,
  );
  return lines.join('\n');
}
