import type { ClaimedJob, Take } from '../../storage/claimed-job.js';

type Given = Pick<ClaimedJob, 'name' | 'queue' | 'started'>;

interface Told {
  takes: { queues: readonly string[]; names: readonly string[]; limit: number; start: number }[];
  readonly alone: boolean;
}

/**
 * What the hub knows of this worker's room: the last want, less what came since. It is told anew only where the slots that
 * are free, or what may run in them, are others than that: a buffer that could hold a job more is not worth a message.
 */
export class ToldRoom {
  #told: Told = { takes: [], alone: false };
  #isSure = true;

  /** Whether jobs that come now come for a want of one that runs alone. */
  get isAlone(): boolean {
    return this.#told.alone;
  }

  tell(takes: readonly Take[], alone: boolean): void {
    this.#told = { takes: takes.map((take) => ({ ...take })), alone };
    this.#isSure = true;
  }

  /** It is not known whether the last want arrived. */
  doubt(): void {
    this.#isSure = false;
  }

  /** The connection is another one, where nothing was told yet. */
  forget(): void {
    this.tell([], false);
  }

  /** Jobs came for it. */
  got(jobs: readonly Given[]): void {
    for (const { name, queue, started } of jobs) {
      const take = this.#told.takes.find(({ names, queues }) => {
        return names.includes(name) && queues.includes(queue);
      });
      if (take === undefined) continue;
      take.limit = Math.max(take.limit - 1, 0);
      if (started) take.start = Math.max(take.start - 1, 0);
    }
  }

  /** Whether this room, in which no job is known to wait, is to be told. */
  differs(takes: readonly Take[]): boolean {
    if (!this.#isSure || this.#told.alone) return true;
    const { takes: told } = this.#told;
    if (takes.length === 0) return told.some(({ limit }) => limit > 0);
    const [free, known] = [takes.filter(hasSlots), told.filter(hasSlots)];
    return (
      free.length !== known.length ||
      free.some(
        (take) =>
          !known.some(
            ({ start, queues, names }) =>
              start === take.start && isSame(queues, take.queues) && isSame(names, take.names),
          ),
      )
    );
  }
}

const hasSlots = ({ start }: { readonly start: number }): boolean => start > 0;

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one === other || (one.length === other.length && one.every((text, index) => text === other[index]));
