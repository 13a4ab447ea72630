/** What a job with `lane: 'browser'` has beside what every job has; here, so that definitions need nothing of the browser. */
// biome-ignore lint/suspicious/noTsIgnore: where it is not installed, and only there, this is an error
/** @ts-ignore an optional package */
import type { Page } from 'puppeteer-core';
import type { Duration } from '../internal/duration.js';
import type { Tab } from './browser-tab.js';
import type { JobContext } from './job-context.js';

export interface BrowserMembers {
  /** The page of this job, by plain verbs. */
  readonly tab: Tab;
  /**
   * The page of this job as that of Puppeteer, where `puppeteer-core` 24 is installed. It ends with the job: no `close` and
   * no `disconnect` is needed.
   *
   * @throws MillraceError `puppeteer-missing` when it is used without
   */
  readonly page: Page;
  /** The protocol of Chrome, as a session with the page of this job. */
  readonly cdp: CdpClient;
}

/** The context of a job that runs beside a Chrome, with a page of its own there. */
export interface BrowserJobContext<Input> extends JobContext<Input>, BrowserMembers {}

/** What each kind of lane adds to the context of a job. */
export interface LaneMembers {
  readonly inline: object;
  readonly process: object;
  readonly browser: BrowserMembers;
}

/** The context of a job in a lane of this kind. */
export type ContextIn<Lane extends keyof LaneMembers, Input> = JobContext<Input> & LaneMembers[Lane];

/** A session over the DevTools protocol, with methods and events by their names there. */
export interface CdpClient {
  /**
   * Calls a method: `cdp.send('Emulation.setCPUThrottlingRate', { rate: 4 })`. Ends with the page, and by its deadline.
   *
   * @throws MillraceError `browser-call-failed`, `deadline-exceeded`, `aborted`
   */
  send<Result = unknown>(method: string, params?: object, options?: CdpCallOptions): Promise<Result>;
  /** Listens to an event; the answer ends that. */
  on<Params = unknown>(event: string, listener: (params: Params) => void): () => void;
}

export interface CdpCallOptions {
  /** @default 10 s */
  readonly timeout?: Duration;
  readonly signal?: AbortSignal;
}
