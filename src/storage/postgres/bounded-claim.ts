/*
 * Claims that may give jobs under limits, budgets or labels. An ordinary claim that finds none of them waiting never
 * comes here.
 *
 * One round: choose lines by the view of them, read their first jobs and what runs (`heads`, nothing locked), decide who
 * comes next by the rule of the seam (`choose-jobs.ts`), then take (`take`): one statement that locks the gates, counts
 * again, and takes of each line what still fits. So no lock is ever held while the server waits for a client: one that
 * stands still can't keep others from their turn.
 *
 * What changes between reading and taking only makes a round give less: then there is another one. Rounds end when every
 * take has what it may have, or when a look that began after the claim shows nothing more that could run.
 */
import { type Chosen, chooseJobs } from '../choose-jobs.js';
import type { ClaimedJob, ClaimRequest, PeekRequest } from '../claimed-job.js';
import { hasRoom } from '../occupancy.js';
import type { Settlement } from '../settlement.js';
import { plainArray, textArray } from './arrays.js';
import { chooseLines, isRunnable } from './choose-lines.js';
import { inChosenOrder } from './chosen-order.js';
import { meteredQueues, namesOf, placeOf, viewKey } from './claim-facts.js';
import { ClaimRound } from './claim-round.js';
import { fetchHeld, inTakeOrder, unpack } from './claimed-jobs.js';
import type { Context } from './context.js';
import { LineBook } from './line-book.js';
import { type LineSource, ReadJobs, type SourceJob } from './line-source.js';
import { aloneLines, LineView, sharedLines } from './line-view.js';
import { gatesOf, gateValues, occupancyOf } from './loads.js';
import { type BoundedClaimQueries, boundedClaimQueries } from './queries/bounded-claim.js';
import type { ClaimQueries } from './queries/claim.js';
import { lineQueries } from './queries/lines.js';
import { chooseAlone, jobsBySource, type ReadRound } from './read-round.js';
import { intOrNull, textOf } from './statement.js';
import { takeValues } from './take-values.js';

const mostRounds = 8;
const linesToPeek = 500;
const nobody = { token: '0'.repeat(32), workerId: '', leaseMs: 0 };
const mostViews = 64;
/** Of jobs that were claimed here and count somewhere; only to know that an ending makes room. */
const mostNoted = 10_000;

/** Where room was made, by name, and for how many jobs. */
export type Places = ReadonlyMap<string, number>;

/** How a claim is to go: ask whether bounded jobs wait, take ordinary ones since those can't run, or choose among all. */
export type Road = 'ask' | 'plain' | 'bounded';

export class BoundedClaims {
  readonly #context: Context;
  readonly #claims: ClaimQueries;
  readonly #queries: BoundedClaimQueries;
  readonly #book: LineBook;
  readonly #views = new Map<string, LineView>();
  readonly #counted = new Map<string, string>();

  constructor(context: Context, claims: ClaimQueries) {
    this.#context = context;
    this.#claims = claims;
    this.#queries = boundedClaimQueries(context.schema);
    this.#book = new LineBook(context.connection, lineQueries(context.schema), context.offsetMs);
    context.connection.onOpen(() => {
      this.#book.forget();
      this.forget();
    });
  }

  /** What is known of waiting lines may be wrong by now. */
  forget(): void {
    this.#views.clear();
  }

  /** Before a settle: if it ends what counted under a limit or a budget, there will be room. Answers how much, and where. */
  noteEndings(settlements: readonly Settlement[]): Places {
    const freed = new Map<string, number>();
    if (this.#counted.size === 0) return freed;
    for (const { id } of settlements) {
      const place = this.#counted.get(id);
      if (place === undefined) continue;
      this.#counted.delete(id);
      freed.set(place, (freed.get(place) ?? 0) + 1);
    }
    if (freed.size === 0) return freed;
    if (settlements.some(({ kind }) => kind !== 'completed')) this.forget();
    for (const view of this.#views.values()) view.noteRoom();
    return freed;
  }

  async roadOf(request: ClaimRequest): Promise<Road> {
    if (meteredQueues(request).length > 0) return 'bounded';
    if (this.#views.size === 0) return 'ask';
    const views = request.takes.map((take) => this.#views.get(viewKey(take, request)));
    if (views.some((view) => view === undefined)) return 'ask';
    return this.#roadBy(request, views as LineView[]);
  }

  /** After an ordinary claim was told that bounded jobs wait: looks which, and whether one of them can run. */
  async look(request: ClaimRequest): Promise<Road> {
    return this.#roadBy(request, this.#viewsOf(request));
  }

  /** @param had what a first part of the same claim took */
  async claim(request: ClaimRequest, had: readonly ClaimedJob[] = []): Promise<ClaimedJob[]> {
    const startedAtMs = performance.now();
    const round = new ClaimRound(request, had, await this.#book.queueGates(meteredQueues(request)));
    const views = this.#viewsOf(request);
    for (let count = 0; count < mostRounds; count += 1) {
      await this.#refresh(views);
      const read = await this.#read(round, views);
      if (read === 'gone') {
        this.#book.forget();
        continue;
      }
      if (read.held.length > 0 && round.isFresh) return inTakeOrder(read.held, request.takes);
      const { chosen, isSure } = this.#choose(round, read, views);
      const taken = chosen.length === 0 ? [] : await this.#take(round, read, chosen);
      round.add(taken);
      if (round.isFull) break;
      if (taken.length < chosen.length || !isSure) continue;
      const short = views.filter((view, index) => round.isShort(index) && !view.isSeenSince(startedAtMs));
      if (short.length === 0) break;
      for (const view of short) await this.#look(view);
    }
    return round.jobs;
  }

  /**
   * Whether a job could be taken now that an ordinary peek leaves out, and in how many ms the next one falls due. Every
   * line that waits is looked at, so nothing is due that a limit or a budget keeps.
   */
  async peek(peeked: PeekRequest, alone: boolean): Promise<{ isDue: boolean; nextInMs: number | null }> {
    const takes = peeked.takes.map((take) => ({ ...take, limit: 1, start: linesToPeek }));
    const request: ClaimRequest = { ...peeked, ...nobody, takes, alone };
    const round = new ClaimRound(request, [], await this.#book.queueGates(meteredQueues(request)));
    const views = this.#viewsOf(request);
    for (const view of views) await this.#look(view);
    const read = await this.#read(round, views);
    if (read === 'gone') {
      this.#book.forget();
      return { isDue: true, nextInMs: null };
    }
    const isDue = read.sources.some(
      ({ queue, line, bound }, index) =>
        (line !== 0 || round.queueGates.has(queue)) &&
        (read.jobs.get(read.sources[index] as LineSource)?.length ?? 0) > 0 &&
        hasRoom(read.occupancy.roomFor(queue, bound?.bounds ?? { limit: null, cost: 1 })),
    );
    return { isDue, nextInMs: await this.#nextInMs(round, views) };
  }

  async #nextInMs({ request, queueGates }: ClaimRound, views: readonly LineView[]): Promise<number | null> {
    const { connection, offsetMs } = this.#context;
    await this.#book.learn(views.flatMap((view) => view.waiting.map(({ line }) => line)));
    const fits = isRunnable(request, this.#book);
    const lines = request.takes.flatMap(({ queues }, index) => [
      ...(views[index]?.waiting.filter(fits) ?? []).map((line) => ({ ...line, take: index + 1 })),
      ...(request.alone ? [] : queues.filter((queue) => queueGates.has(queue))).map((queue) => ({
        queue,
        line: 0,
        take: index + 1,
      })),
    ]);
    if (lines.length === 0) return null;
    const [row] = await connection.run(this.#queries.next, [
      textArray(lines.map(({ queue }) => queue)),
      plainArray(lines.map(({ line }) => line)),
      plainArray(lines.map(({ take }) => take)),
      namesOf(request.takes),
      offsetMs(),
    ]);
    return intOrNull(row?.[0]);
  }

  #note(jobs: readonly ClaimedJob[], request: ClaimRequest): void {
    if (this.#counted.size > mostNoted) this.#counted.clear();
    for (const job of jobs) {
      const place = placeOf(job, request);
      if (place !== null) this.#counted.set(job.id, place);
    }
  }

  async #roadBy(request: ClaimRequest, views: readonly LineView[]): Promise<Road> {
    await this.#refresh(views);
    let road: Road = 'ask';
    const isOpen = isRunnable(request, this.#book);
    for (const view of views) {
      if (view.some(isOpen)) return 'bounded';
      if (view.hasLines) road = 'plain';
    }
    if (road === 'ask') for (const take of request.takes) this.#views.delete(viewKey(take, request));
    return road;
  }

  #viewsOf(request: ClaimRequest): LineView[] {
    if (this.#views.size > mostViews) this.#views.clear();
    return request.takes.map((take) => {
      const key = viewKey(take, request);
      const view = this.#views.get(key) ?? new LineView(take, request.alone ? aloneLines : sharedLines);
      this.#views.set(key, view);
      return view;
    });
  }

  async #refresh(views: readonly LineView[]): Promise<void> {
    for (const view of views) if (!view.isFresh(this.#context.offsetMs())) await this.#look(view);
  }

  async #look(view: LineView): Promise<void> {
    const { connection, offsetMs } = this.#context;
    await view.look(connection, this.#queries, offsetMs());
    await this.#book.learn([...view.open()].map(({ line }) => line));
  }

  async #read(round: ClaimRound, views: readonly LineView[]): Promise<ReadRound | 'gone'> {
    const { request, queueGates } = round;
    const { connection, offsetMs } = this.#context;
    const sources = chooseLines({ request, had: round.had, views, book: this.#book });
    const lines = sources.map(({ bound }) => bound);
    const gates = gatesOf(lines, queueGates, request.budgets);
    const [row] = await connection.run(this.#queries.heads, [
      request.token,
      textArray(sources.map(({ queue }) => queue)),
      plainArray(sources.map(({ line }) => line)),
      plainArray(sources.map(({ take }) => take + 1)),
      plainArray(sources.map(({ depth }) => depth)),
      namesOf(request.takes),
      ...gateValues(gates),
      offsetMs(),
    ]);
    const occupancy = occupancyOf(row?.[1] ?? null, gates, { lines, budgets: request.budgets });
    if (occupancy === null) return 'gone';
    const held = unpack(row?.[2] ?? null, request.token, 'any');
    return { sources, gates, occupancy, held, jobs: jobsBySource(row, sources) };
  }

  #choose(
    { request, had }: ClaimRound,
    { sources, occupancy, jobs }: ReadRound,
    views: readonly LineView[],
  ): { chosen: Chosen<SourceJob>[]; isSure: boolean } {
    let isSure = true;
    const chosen = request.takes.flatMap((take, index) => {
      const count = had[index] ?? 0;
      const left = { limit: take.limit - count, start: Math.max(0, take.start - count) };
      if (request.alone) return chooseAlone(take, { sources, occupancy, jobs });
      const read = new ReadJobs(jobs);
      const queues = [...new Set(take.queues)].map((queue) =>
        sources
          .filter((source) => source.take === index && source.queue === queue)
          .map((source) => read.lineOf(source, occupancy)),
      );
      const found = chooseJobs(left, queues);
      if (found.length > read.sureOf) isSure = false;
      return found.slice(0, read.sureOf);
    });
    for (const source of sources) {
      if (source.bound === null) continue;
      if ((jobs.get(source) ?? []).length === 0) views[source.take]?.noteEmpty(source);
      else if (!hasRoom(occupancy.roomFor(source.queue, source.bound.bounds)))
        views[source.take]?.noteFull(source);
    }
    return { chosen, isSure };
  }

  async #take(
    { request, queueGates }: ClaimRound,
    { gates }: ReadRound,
    chosen: readonly Chosen<SourceJob>[],
  ): Promise<ClaimedJob[]> {
    const { connection, offsetMs } = this.#context;
    const values = takeValues(request, { chosen, gates, queueGates, names: namesOf(request.takes) });
    const [row] = await connection.run(this.#queries.take, [...values, offsetMs()]);
    const ids = textOf(row?.[1]);
    if (ids === '') return [];
    const packed = row?.[0] ?? null;
    const jobs =
      packed === null
        ? await fetchHeld(connection, this.#claims, { token: request.token, only: new Set(ids.split(',')) })
        : unpack(packed, request.token, 'any');
    this.#note(jobs, request);
    return inChosenOrder(inTakeOrder(jobs, request.takes), chosen, request.takes);
  }
}
