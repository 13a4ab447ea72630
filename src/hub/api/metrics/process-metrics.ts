import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { FastifyInstance } from 'fastify';
import { Counter, Histogram, type Registry } from 'prom-client';
import { version } from '../../../internal/version.js';
import { addPlain } from './plain-metric.js';

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30];
const nsPerSecond = 1e9;

/** How the process of the hub and its HTTP API are. */
export function addProcessMetrics(registry: Registry, app: FastifyInstance, streams: () => number): void {
  addPlain(registry, {
    name: 'millrace_build_info',
    help: 'The version of this hub.',
    type: 'gauge',
    read: () => [{ value: 1, labels: { version } }],
  });
  addPlain(registry, {
    name: 'millrace_hub_event_streams',
    help: 'Streams of events that are open.',
    type: 'gauge',
    read: () => [{ value: streams() }],
  });
  addPlain(registry, {
    name: 'millrace_hub_resident_memory_bytes',
    help: 'Resident memory of the hub.',
    type: 'gauge',
    read: () => [{ value: process.memoryUsage.rss() }],
  });
  addLoopLag(registry, app);
  countRequests(registry, app);
}

function addLoopLag(registry: Registry, app: FastifyInstance): void {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  app.addHook('onClose', (_app, done) => {
    delay.disable();
    done();
  });
  addPlain(registry, {
    name: 'millrace_hub_loop_lag_seconds',
    help: 'How late the main loop of the hub turned since the last scrape.',
    type: 'gauge',
    read() {
      const seconds = { p50: delay.percentile(50), p99: delay.percentile(99), max: delay.max };
      delay.reset();
      return Object.entries(seconds).map(([of, ns]) => ({ value: ns / nsPerSecond, labels: { of } }));
    },
  });
}

/** Requests under the pattern of their route: addresses have ids in them. */
function countRequests(registry: Registry, app: FastifyInstance): void {
  const requests = new Counter({
    name: 'millrace_http_requests_total',
    help: 'Requests that were answered.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'millrace_http_request_seconds',
    help: 'How long answers took; streams and waiting for results are left out.',
    labelNames: ['method'],
    buckets,
    registers: [registry],
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { url = 'unknown' } = request.routeOptions;
    // A method can be any word.
    const method = url === 'unknown' ? 'ANY' : request.method;
    requests.inc({ method, route: url, status: String(reply.statusCode) });
    const isWait = url === '/jobs/:id/events' || url === '/jobs/:id/result';
    if (!isWait) seconds.observe({ method }, reply.elapsedTime / 1000);
    done();
  });
}
