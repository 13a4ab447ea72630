import type { JobDefinition } from '../client/job-definition.js';
import type { BulkEntry, DispatchArgumentsOf, HandleOf } from '../client/job-types.js';
import { Millrace } from '../client/millrace.js';
import type { MillraceOptions } from '../client/millrace-options.js';

/** A client whose next dispatches can be made to fail. */
export class KitClient<const Jobs extends readonly JobDefinition[]> extends Millrace<Jobs> {
  readonly #faults: Error[];

  /** @param faults taken from the front, one for each call */
  constructor(options: MillraceOptions<Jobs>, faults: Error[]) {
    super(options);
    this.#faults = faults;
  }

  override dispatch<const Target extends JobDefinition | string>(
    job: Target,
    ...given: DispatchArgumentsOf<Jobs, Target>
  ): Promise<HandleOf<Jobs, Target>> {
    const fault = this.#faults.shift();
    return fault === undefined ? super.dispatch(job, ...given) : Promise.reject(fault);
  }

  override dispatchMany<const Targets extends readonly (JobDefinition | string)[]>(
    entries: {
      readonly [Index in keyof Targets]: BulkEntry<Jobs, Targets[Index]>;
    },
  ): Promise<{ -readonly [Index in keyof Targets]: HandleOf<Jobs, Targets[Index]> }> {
    const fault = this.#faults.shift();
    return fault === undefined ? super.dispatchMany<Targets>(entries) : Promise.reject(fault);
  }
}
