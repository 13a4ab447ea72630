/** The hub, by `millrace/hub`: apart from the root, so that who only dispatches loads no server. */
export { Hub, type HubHealth } from './hub.js';
export {
  CountByReason,
  HubMetrics,
  LatencyHistogram,
  latencyBucketsMs,
} from './hub-metrics.js';
export type { HubOptions, LinkTimes } from './hub-options.js';
