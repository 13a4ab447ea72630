import type { DispatchArguments, DispatchOptions, SyncDispatchArguments } from './dispatch-options.js';
import type { JobDefinition } from './job-definition.js';
import type { JobHandle, ResultOptions } from './job-handle.js';
import type { Jsonified } from './jsonified.js';

type TypesOf<Job> = Job extends { readonly '~types'?: infer Types } ? NonNullable<Types> : never;

/** What a dispatch of a definition takes. */
export type InputOf<Job> = TypesOf<Job> extends { readonly input: infer Input } ? Input : unknown;

/** What the handler of a definition returns. */
export type OutputOfJob<Job> = TypesOf<Job> extends { readonly output: infer Output } ? Output : unknown;

/** The definition of this name among those a client was given; `unknown` when there is none. */
type Named<Jobs extends readonly JobDefinition[], Name extends string> = [
  Extract<Jobs[number], { readonly name: Name }>,
] extends [never]
  ? unknown
  : Extract<Jobs[number], { readonly name: Name }>;

/** A definition as it is, or the one that a name stands for. */
export type Resolved<Jobs extends readonly JobDefinition[], Target> = Target extends string
  ? Named<Jobs, Target>
  : Target;

/** The arguments behind the job in `dispatch`. */
export type DispatchArgumentsOf<Jobs extends readonly JobDefinition[], Target> = DispatchArguments<
  InputOf<Resolved<Jobs, Target>>
>;

/** What the handler of a job returns, as JSON gives it back. */
export type ResultOf<Jobs extends readonly JobDefinition[], Target> = Jsonified<
  OutputOfJob<Resolved<Jobs, Target>>
>;

/** The arguments behind the job in `dispatchAndWait`: those of a dispatch, with how long to wait among the options. */
export type WaitArgumentsOf<Jobs extends readonly JobDefinition[], Target> =
  undefined extends InputOf<Resolved<Jobs, Target>>
    ? [input?: InputOf<Resolved<Jobs, Target>>, options?: WaitOptions<InputOf<Resolved<Jobs, Target>>>]
    : [input: InputOf<Resolved<Jobs, Target>>, options?: WaitOptions<InputOf<Resolved<Jobs, Target>>>];

export type WaitOptions<Input> = Omit<DispatchOptions<Input>, 'tx'> & ResultOptions;

/** The arguments behind the job in `dispatchSync`. */
export type SyncDispatchArgumentsOf<Jobs extends readonly JobDefinition[], Target> = SyncDispatchArguments<
  InputOf<Resolved<Jobs, Target>>
>;

export type HandleOf<Jobs extends readonly JobDefinition[], Target> = JobHandle<
  Jsonified<OutputOfJob<Resolved<Jobs, Target>>>
>;

/** One job of `dispatchMany`. */
export type BulkEntry<Jobs extends readonly JobDefinition[], Target> =
  undefined extends InputOf<Resolved<Jobs, Target>>
    ? {
        readonly job: Target;
        readonly input?: InputOf<Resolved<Jobs, Target>>;
        readonly options?: Omit<DispatchOptions<InputOf<Resolved<Jobs, Target>>>, 'tx'> | undefined;
      }
    : {
        readonly job: Target;
        readonly input: InputOf<Resolved<Jobs, Target>>;
        readonly options?: Omit<DispatchOptions<InputOf<Resolved<Jobs, Target>>>, 'tx'> | undefined;
      };
