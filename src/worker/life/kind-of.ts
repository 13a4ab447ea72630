import type { LaneKind } from '../../core/lane-kind.js';
import type { WorkerHost } from '../host.js';

/** In which kind of lane jobs of this name run; those of unknown names are never claimed. */
export function kindOf(definitions: WorkerHost['definitions'], name: string): LaneKind {
  return definitions.get(name)?.lane ?? 'inline';
}

export function namesByKind(definitions: WorkerHost['definitions']): Map<LaneKind, string[]> {
  const names = new Map<LaneKind, string[]>();
  for (const [name, { lane }] of definitions) names.set(lane, [...(names.get(lane) ?? []), name]);
  return names;
}
