import type { Storage } from '../../storage/storage.js';
import type { AdminState, WorkerReport } from '../../storage/worker-record.js';
import type { LinkListener } from './link.js';

/** Adds or renews the registration, and tells whoever looks when another living worker stands under this id. */
export async function register(
  storage: Storage,
  report: WorkerReport,
  { ttlMs, listener }: { readonly ttlMs: number; readonly listener: LinkListener },
): Promise<AdminState> {
  const { outcome, adminState } = await storage.register(report, ttlMs);
  if (outcome === 'taken') {
    listener.onLog(
      'error',
      `another living worker is registered under the id ${report.id}; give this one its own`,
      { id: report.id },
    );
  }
  return adminState;
}
