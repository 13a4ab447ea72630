import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { ResolvedBackoff } from '../core/backoff.js';
import type { JobLane } from '../core/job-lane.js';
import type { BrowserOption } from './browser-options.js';
import type { JobContext } from './job-context.js';
import type { ResolvedLimit } from './limit-option.js';
import type { ResolvedUnique } from './unique-option.js';

/** Makes of a payload what the next version of it is. */
export type Upcast = (payload: never) => unknown;

const brand: unique symbol = Symbol.for('millrace.job-definition') as never;

/**
 * A kind of job: its name, the types of what goes in and comes out, what holds for each job of it unless a
 * dispatch says otherwise, and the code that runs it. Made by `defineJob`; frozen.
 *
 * `Input` is what a dispatch takes, `Parsed` what the handler is given, `Output` what it returns.
 */
export interface JobDefinition<
  Name extends string = string,
  Input = unknown,
  Parsed = unknown,
  Output = unknown,
> {
  readonly name: Name;
  readonly inputSchema: StandardSchemaV1<Input, Parsed> | undefined;
  readonly outputSchema: StandardSchemaV1<unknown, Output> | undefined;
  /** Undefined, here and below: the client's settings decide. */
  readonly queue: string | undefined;
  /** Sorted. */
  readonly tags: readonly string[];
  /** Lifts for payloads of earlier versions: the first one takes version 1. */
  readonly upcast: readonly Upcast[];
  readonly priority: number;
  readonly maxAttempts: number | undefined;
  readonly backoff: ResolvedBackoff | undefined;
  readonly timeoutMs: number | undefined;
  /** The kind of slot that its jobs run in. */
  readonly lane: JobLane;
  /** Of a browser lane; undefined: as Chrome is. */
  readonly browser?: BrowserOption<never>;
  /** Null: the system's retention. */
  readonly retentionMs: number | null;
  readonly unique: ResolvedUnique | null;
  readonly limit: ResolvedLimit | null;
  readonly cost: number;
  /** Sorted. */
  readonly requires: readonly string[];
  /** The code of the job; absent when it is only declared here and runs elsewhere. */
  run?(context: JobContext<Parsed>): unknown;
  /** Never set; carries the types. */
  readonly '~types'?: { readonly input: Input; readonly parsed: Parsed; readonly output: Output };
}

export function brandDefinition<T extends object>(definition: T): Readonly<T> {
  return Object.freeze(Object.defineProperty(definition, brand, { value: true }));
}

/** Whether `value` came from `defineJob`, also from that of another copy of the package. */
export function isJobDefinition(value: unknown): value is JobDefinition {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[brand] === true;
}

/** The version of the payloads that are dispatched by this definition. */
export const versionOf = ({ upcast }: Pick<JobDefinition, 'upcast'>): number => upcast.length + 1;

/** A definition with its code and with what it left to the client's settings: what a worker runs. */
export interface RunnableJob extends JobDefinition {
  readonly queue: string;
  readonly maxAttempts: number;
  readonly backoff: ResolvedBackoff;
  readonly timeoutMs: number;
  run(context: JobContext<unknown>): unknown;
}
