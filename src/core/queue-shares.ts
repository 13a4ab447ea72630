/**
 * Shares of queues: each queue has a clock that a job of it moves on by 1 ÷ its weight, and the queue whose clock is
 * furthest behind has the next turn. So of any run of turns each queue with work gets its share, evenly spread, and a
 * turn that found nothing costs nothing: an idle share goes to the others at once.
 *
 * A queue that had nothing for a while does not save up: its clock is set to where the others are when it comes back.
 */
export interface Turn {
  readonly queue: string;
  readonly limit: number;
  /** Of these, how many are for slots that are free now. */
  readonly start: number;
}

interface Member {
  readonly weight: number;
  clock: number;
}

export class QueueShares {
  readonly #members = new Map<string, Member>();
  /** Where the queues stand that are being served. */
  #now = 0;

  /** Sets who takes part; known ones keep their clock, new ones join where the others are. */
  setWeights(weights: Iterable<readonly [string, number]>): void {
    const before = new Map(this.#members);
    this.#members.clear();
    for (const [queue, weight] of weights) {
      this.#members.set(queue, { weight, clock: before.get(queue)?.clock ?? this.#now });
    }
  }

  /** These queues by whose turn it is. */
  inTurn(queues: Iterable<string>): string[] {
    const list = [...queues];
    for (const queue of list) {
      const member = this.#members.get(queue);
      if (member !== undefined) member.clock = Math.max(member.clock, this.#now);
    }
    return list.sort((a, b) => this.#clock(a) - this.#clock(b));
  }

  /**
   * Shares out `limit` places among these queues, the first `start` of which are for free slots; the places beyond those
   * only among the queues of which `mayBuffer` is true.
   */
  split(
    queues: readonly string[],
    { limit, start }: { readonly limit: number; readonly start: number },
    mayBuffer: (queue: string) => boolean = () => true,
  ): Turn[] {
    const turns = queues.map((queue) => ({ queue, limit: 0, start: 0 }));
    const clocks = queues.map((queue) => this.#clock(queue));
    const isBuffering = queues.map(mayBuffer);
    for (let place = 0; place < limit; place += 1) {
      const next = furthestBehind(clocks, place < start ? null : isBuffering);
      const turn = turns[next];
      if (turn === undefined) break;
      clocks[next] = (clocks[next] ?? 0) + 1 / this.#weight(turn.queue);
      turn.limit += 1;
      if (place < start) turn.start += 1;
    }
    return turns.filter((turn) => turn.limit > 0);
  }

  /** So many jobs of the queue were taken. */
  took(queue: string, jobs: number): void {
    const member = this.#members.get(queue);
    if (member === undefined || jobs === 0) return;
    const before = member.clock;
    member.clock += jobs / member.weight;
    this.#now = Math.max(this.#now, before);
  }

  #clock(queue: string): number {
    return this.#members.get(queue)?.clock ?? this.#now;
  }

  #weight(queue: string): number {
    return this.#members.get(queue)?.weight ?? 1;
  }
}

/** The index of the smallest clock among those that may have a place; −1 when none may. */
function furthestBehind(clocks: readonly number[], may: readonly boolean[] | null): number {
  let first = -1;
  for (let index = 0; index < clocks.length; index += 1) {
    if (may !== null && may[index] !== true) continue;
    if (first < 0 || (clocks[index] ?? 0) < (clocks[first] ?? 0)) first = index;
  }
  return first;
}
