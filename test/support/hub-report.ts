import type { HubReport } from '../../src/storage/hub-record.js';

/** What a hub may say of itself; an id is the test's own. */
export function hubReport(with_: Partial<HubReport> & Pick<HubReport, 'id'>): HubReport {
  return {
    host: 'host.example',
    pid: 4_712,
    version: '0.1.0',
    advertiseUrl: null,
    connections: 0,
    details: {},
    ...with_,
  };
}
