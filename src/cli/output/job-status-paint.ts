import type { JobStatus } from '../../core/job-status.js';
import type { Paint, Style } from './style.js';

export function paintOfStatus(status: JobStatus, style: Style): Paint | undefined {
  switch (status) {
    case 'completed':
      return style.good;
    case 'processing':
      return style.active;
    case 'buried':
      return style.bad;
    case 'cancelled':
      return style.dim;
    case 'blocked':
      return style.warning;
    case 'pending':
      return undefined;
  }
}
