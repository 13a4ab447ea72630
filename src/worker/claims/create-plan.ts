import { type LaneKind, laneKinds } from '../../core/lane-kind.js';
import type { Logger } from '../../internal/logger.js';
import type { QueueSelection } from '../../internal/queue-selection.js';
import type { WorkerStorage } from '../../storage/worker-storage.js';
import { monotonicMs } from '../monotonic.js';
import { ClaimPlan, type ClaimPlanOptions } from './claim-plan.js';
import { KnownQueues } from './known-queues.js';
import type { QueueOrder, Room } from './queue-order.js';
import { ShareOrder } from './share-order.js';
import { StrictOrder } from './strict-order.js';

export interface PlanOptions extends Pick<ClaimPlanOptions, 'kindOf' | 'isClosed' | 'lone'> {
  readonly selection: QueueSelection;
  readonly storage: WorkerStorage;
  readonly logger: Logger;
  readonly pollMs: number;
  /** Those that the worker has slots of. */
  readonly kinds: readonly LaneKind[];
  readonly room: (kind: LaneKind) => Room | null;
  readonly names: (kind: LaneKind) => readonly string[];
  readonly isServing: (kind: LaneKind) => boolean;
  /** Queues have joined. */
  readonly onQueues: () => void;
}

export interface CreatedPlan {
  readonly plan: ClaimPlan;
  /** Where all queues are served: which there are. */
  readonly knownQueues: KnownQueues | null;
}

/** The plan of a worker with these kinds of slots; each kind has its own turns, since its jobs wait for nothing else. */
export function createPlan(options: PlanOptions): CreatedPlan {
  const { selection, pollMs, room, names, isServing } = options;
  const shares: ShareOrder[] = [];
  const createOrder = (): QueueOrder => {
    if (selection.order === 'strict') return new StrictOrder(selection.queues);
    const weights =
      selection.order === 'all' ? [] : selection.shares.map(({ queue, weight }) => [queue, weight] as const);
    const order = new ShareOrder({ weights, forgetMs: pollMs, now: monotonicMs });
    shares.push(order);
    return order;
  };
  const kinds = laneKinds
    .filter((kind) => options.kinds.includes(kind))
    .map((kind) => ({
      kind,
      order: createOrder(),
      room: () => room(kind),
      names: () => names(kind),
      isServing: () => isServing(kind),
    }));
  const plan = new ClaimPlan({ ...options, kinds });
  if (selection.order !== 'all') return { plan, knownQueues: null };
  const knownQueues = new KnownQueues({
    storage: options.storage,
    except: selection.except,
    logger: options.logger,
    onChange: (queues) => {
      for (const order of shares) order.setWeights(queues.map((queue) => [queue, 1] as const));
      options.onQueues();
    },
  });
  return { plan, knownQueues };
}
