import { formatDuration } from '../../internal/duration.js';
import { heartbeatIntervalMs, settings as registry } from '../../internal/settings.js';
import { type Diagnosis, fine } from '../../storage/diagnosis.js';
import type { Setup } from '../session.js';

/** Node, config, and settings that are each possible but do not fit together. */
export function diagnoseSetup(setup: Setup): Diagnosis[] {
  return [fine('node', process.version), configCheck(setup), ...settingChecks(setup)];
}

function configCheck({ config, jobs }: Setup): Diagnosis {
  if (config === null) {
    return {
      check: 'config',
      status: 'warn',
      message: 'none was found from here upward; a worker started here knows no jobs',
      fix: 'Run: millrace init',
    };
  }
  if (jobs.length === 0) {
    return {
      check: 'config',
      status: 'warn',
      message: `${config.file} lists no jobs; a worker with it runs none`,
      fix: 'Add what defineJob() made to jobs',
    };
  }
  return fine('config', `${config.file} with ${jobs.length} ${jobs.length === 1 ? 'job' : 'jobs'}`);
}

function settingChecks({ settings: { values, warnings } }: Setup): Diagnosis[] {
  const found: Diagnosis[] = warnings.map((message) => warning(message, 'Correct its name, or unset it'));
  const beatMs = heartbeatIntervalMs(values);
  if (beatMs < values.heartbeatMs) {
    found.push(
      warning(
        `${registry.heartbeat.env} is ${formatDuration(values.heartbeatMs)}, but workers beat every ${formatDuration(beatMs)}, a quarter of ${registry.workerTtl.env}`,
        `Lower the one or raise the other`,
      ),
    );
  }
  if (values.workerTtlMs < values.staleTimeoutMs) {
    found.push(
      warning(
        `${registry.workerTtl.env} (${formatDuration(values.workerTtlMs)}) is shorter than a lease (${registry.staleTimeout.env}, ${formatDuration(values.staleTimeoutMs)}): workers are shown as offline that still hold jobs`,
        `Raise ${registry.workerTtl.env}`,
      ),
    );
  }
  return found.length > 0 ? found : [fine('settings', 'fit together')];
}

function warning(message: string, fix: string): Diagnosis {
  return { check: 'settings', status: 'warn', message, fix };
}
