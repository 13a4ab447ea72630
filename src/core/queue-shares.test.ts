import { expect, it } from 'vitest';
import { QueueShares, type Turn } from './queue-shares.js';

function sharesOf(weights: Record<string, number>): QueueShares {
  const shares = new QueueShares();
  shares.setWeights(Object.entries(weights));
  return shares;
}

/** Takes `jobs` in claims of `limit`, from queues that hold what `stock` says, and counts them by queue. */
function serve(
  shares: QueueShares,
  { jobs, limit, stock }: { jobs: number; limit: number; stock: Record<string, number> },
): Record<string, number> {
  const served: Record<string, number> = {};
  let left = jobs;
  while (left > 0) {
    const open = shares.inTurn(Object.keys(stock).filter((queue) => (stock[queue] ?? 0) > 0));
    if (open.length === 0) break;
    for (const { queue, limit: most } of shares.split(open, { limit: Math.min(limit, left), start: 0 })) {
      const got = Math.min(most, stock[queue] ?? 0);
      stock[queue] = (stock[queue] ?? 0) - got;
      served[queue] = (served[queue] ?? 0) + got;
      shares.took(queue, got);
      left -= got;
    }
  }
  return served;
}

const plenty = 1_000_000;

it.each([1, 2, 7, 10, 100, 500])('gives each queue its share when %i are taken at a time', (limit) => {
  const stock = { a: plenty, b: plenty, c: plenty };
  const served = serve(sharesOf({ a: 6, b: 3, c: 1 }), { jobs: 1_000, limit, stock });
  expect(served['a']).toBeGreaterThanOrEqual(590);
  expect(served['a']).toBeLessThanOrEqual(610);
  expect(served['b']).toBeGreaterThanOrEqual(290);
  expect(served['c']).toBeGreaterThanOrEqual(90);
});

it('spreads turns evenly instead of in blocks', () => {
  const shares = sharesOf({ a: 2, b: 1 });
  const order: string[] = [];
  for (let index = 0; index < 6; index += 1) {
    const [turn] = shares.split(shares.inTurn(['a', 'b']), { limit: 1, start: 1 });
    order.push((turn as Turn).queue);
    shares.took((turn as Turn).queue, 1);
  }
  expect(order.join('')).toMatch(/^(aba|baa|aab){2}$/);
});

it('gives an idle share to the others at once', () => {
  const served = serve(sharesOf({ a: 6, b: 3, c: 1 }), {
    jobs: 400,
    limit: 10,
    stock: { b: plenty, c: plenty },
  });
  expect(served['b']).toBe(300);
  expect(served['c']).toBe(100);
});

it('lets a queue that was idle for long have its share, not what it missed', () => {
  const shares = sharesOf({ a: 1, b: 1 });
  serve(shares, { jobs: 10_000, limit: 10, stock: { a: plenty } });
  const served = serve(shares, { jobs: 1_000, limit: 10, stock: { a: plenty, b: plenty } });
  expect(served['b']).toBeLessThanOrEqual(520);
  expect(served['b']).toBeGreaterThanOrEqual(480);
});

it('keeps the clocks of known queues when others join or go', () => {
  const shares = sharesOf({ a: 1, b: 1 });
  serve(shares, { jobs: 100, limit: 5, stock: { a: plenty, b: plenty } });
  shares.setWeights([
    ['a', 1],
    ['b', 1],
    ['c', 1],
  ]);
  const served = serve(shares, { jobs: 300, limit: 5, stock: { a: plenty, b: plenty, c: plenty } });
  for (const queue of ['a', 'b', 'c']) expect(served[queue]).toBeGreaterThanOrEqual(95);
});

it('gives the slots that are free to whose turn it is first', () => {
  const shares = sharesOf({ a: 3, b: 1 });
  const turns = shares.split(shares.inTurn(['a', 'b']), { limit: 8, start: 4 });
  expect(turns.reduce((sum, { start }) => sum + start, 0)).toBe(4);
  expect(turns.find(({ queue }) => queue === 'a')).toMatchObject({ limit: 6, start: 3 });
});
