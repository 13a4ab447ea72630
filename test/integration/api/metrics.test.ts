import { describe, expect, it } from 'vitest';
import { HubMetrics } from '../../../src/hub/hub-metrics.js';
import { waitFor } from '../../support/wait-for.js';
import { openApi, work } from './api-stage.js';

/** The lines of a page, by what stands before their number. */
function numbers(page: string): Map<string, number> {
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

describe('[memory] http: metrics', () => {
  it('tell of jobs, queues, workers, lanes, the link and requests', async () => {
    const metrics = new HubMetrics();
    metrics.assignedJobs = 7;
    metrics.putBacks.add('a "reason"\nof two lines', 2);
    metrics.claimMs.note(3);
    metrics.claimMs.note(70_000);
    await using at = await openApi('memory', { metrics });
    await at.call('POST', '/jobs', { name: 'greet', payload: { name: 'A' } });
    await at.call('POST', '/jobs', { name: 'fail' });
    await work(at.client);
    await at.call('POST', '/jobs', { name: 'greet', payload: { name: 'B' } });
    await using worker = at.client.worker({ queues: ['nothing'], concurrency: 4 });
    await worker.start();
    const page = await waitFor(
      async () => {
        const { body } = await at.call('GET', '/metrics');
        return body.includes('millrace_workers{status="active",link="storage"} 1') && body;
      },
      { describe: 'the worker to be counted', deadlineMs: 20_000, intervalMs: 100 },
    );
    const got = numbers(page);
    const expected: Record<string, number> = {
      millrace_storage_up: 1,
      'millrace_jobs{queue="default",status="pending"}': 1,
      'millrace_jobs_claimable{queue="default"}': 1,
      'millrace_jobs_ended_total{queue="default",status="completed"}': 1,
      'millrace_jobs_ended_total{queue="default",status="buried"}': 1,
      'millrace_queue_paused{queue="default"}': 0,
      'millrace_slots{kind="inline",of="all"}': 4,
      'millrace_worker_found_jobs{by="poll"}': 0,
      'millrace_worker_denied_jobs{reason="own-memory"}': 0,
      'millrace_worker_lane_steps{step="restart"}': 0,
      'millrace_worker_alarms{alarm="slots-overrun"}': 0,
      millrace_hub_assigned_jobs_total: 7,
      'millrace_hub_put_backs_total{reason="a \\"reason\\"\\nof two lines"}': 2,
      'millrace_hub_claim_seconds_bucket{le="0.0025"}': 0,
      'millrace_hub_claim_seconds_bucket{le="0.005"}': 1,
      'millrace_hub_claim_seconds_bucket{le="10"}': 1,
      'millrace_hub_claim_seconds_bucket{le="+Inf"}': 2,
      millrace_hub_claim_seconds_count: 2,
      'millrace_http_requests_total{method="POST",route="/jobs",status="201"}': 3,
    };
    expect(Object.fromEntries(Object.keys(expected).map((key) => [key, got.get(key)]))).toEqual(expected);
    expect(got.get('millrace_hub_loop_lag_seconds{of="p99"}')).toBeGreaterThanOrEqual(0);
    expect(got.get('millrace_queue_oldest_due_seconds{queue="default"}')).toBeGreaterThanOrEqual(0);
    for (const line of page.split('\n').filter((text: string) => text !== '')) {
      expect(line).toMatch(
        /^(# (HELP|TYPE) \w+ .+|[a-z_]+(\{[^}]*\})? -?[\d.e+-]+|[a-z_]+(\{[^}]*\})? NaN)$/,
      );
    }
  });

  it('read the database once a second at most, however many scrape, and say when it is away', async () => {
    await using at = await openApi('memory');
    const { storage } = at.engine;
    let reads = 0;
    const stats = storage.stats.bind(storage);
    storage.stats = ((queue?: string) => {
      reads += 1;
      return stats(queue as string);
    }) as typeof storage.stats;
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: 40 }, () => at.call('GET', '/metrics')));
    const tookMs = performance.now() - startedAt;
    expect(reads).toBeGreaterThan(0);
    expect(reads).toBeLessThanOrEqual(1 + Math.floor(tookMs / 1_000));
    await at.client.close();
    const page = await waitFor(
      async () => {
        const { body } = await at.call('GET', '/metrics');
        return body.includes('millrace_storage_up 0') && body;
      },
      { describe: 'the database to be told as away', deadlineMs: 20_000, intervalMs: 100 },
    );
    expect(page).toContain('millrace_hub_loop_lag_seconds');
    expect(page).not.toMatch(/^millrace_jobs\{/m);
  });
});
