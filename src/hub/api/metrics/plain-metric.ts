import type { Registry } from 'prom-client';
import { type LatencyHistogram, latencyBucketsMs } from '../../hub-metrics.js';

/** One line of a metric. */
export interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** Where it differs from that of the metric, as the parts of a histogram do. */
  readonly metricName?: string;
}

export interface PlainMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Asked at each scrape. */
  readonly read: () => readonly Sample[] | Promise<readonly Sample[]>;
}

/** Adds a metric whose numbers are kept elsewhere: those of prom-client keep their own and can only be counted up. */
export function addPlain(registry: Registry, { name, help, type, read }: PlainMetric): void {
  const metric = {
    name,
    help,
    type,
    aggregator: 'sum',
    get: async () => {
      const values = (await read()).map(({ labels = {}, ...sample }) => ({ ...sample, labels }));
      return { name, help, type, aggregator: 'sum', values };
    },
    reset: () => undefined,
  };
  registry.registerMetric(metric as unknown as Parameters<Registry['registerMetric']>[0]);
}

/** The lines of a histogram of ms, in seconds. */
export function histogramSamples(name: string, { counts, sumMs, count }: LatencyHistogram): Sample[] {
  let below = 0;
  const buckets = [...latencyBucketsMs.map((ms) => String(ms / 1000)), '+Inf'].map((le, index) => {
    below += counts[index] ?? 0;
    return { metricName: `${name}_bucket`, value: below, labels: { le } };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, value: sumMs / 1000 },
    { metricName: `${name}_count`, value: count },
  ];
}
