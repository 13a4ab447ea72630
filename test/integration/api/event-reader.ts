import { EventEmitter, once } from 'node:events';

export interface SeenEvent {
  readonly id: string;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads of it, it then checks
  readonly data: any;
}

/** Reads a stream of server-sent events until it ends or is cut. */
export class EventReader {
  readonly events: SeenEvent[] = [];
  readonly comments: string[] = [];
  status = 0;
  hasEnded = false;
  readonly #cut = new AbortController();
  readonly #news = new EventEmitter();
  readonly done: Promise<void>;

  constructor(url: string, headers: Record<string, string> = {}) {
    this.done = this.#read(url, headers);
  }

  get lastId(): string {
    return this.events.at(-1)?.id ?? '';
  }

  /** Cuts the connection. */
  async cut(): Promise<void> {
    this.#cut.abort();
    await this.done;
  }

  async until(isThere: (events: readonly SeenEvent[]) => boolean, describe: string): Promise<void> {
    const signal = AbortSignal.timeout(25_000);
    while (!isThere(this.events)) {
      if (this.hasEnded) throw new Error(`the stream ended before: ${describe}`);
      await once(this.#news, 'news', { signal }).catch(() => {
        throw new Error(`no event in time for: ${describe}; seen: ${JSON.stringify(this.events)}`);
      });
    }
  }

  async #read(url: string, headers: Record<string, string>): Promise<void> {
    try {
      const answer = await fetch(url, { headers, signal: this.#cut.signal });
      this.status = answer.status;
      let text = '';
      const decoder = new TextDecoder();
      for await (const part of answer.body ?? []) {
        text += decoder.decode(part as Uint8Array, { stream: true });
        const frames = text.split('\n\n');
        text = frames.pop() ?? '';
        for (const frame of frames) this.#take(frame);
        this.#news.emit('news');
      }
    } catch (error) {
      if (!this.#cut.signal.aborted) throw error;
    } finally {
      this.hasEnded = true;
      this.#news.emit('news');
    }
  }

  #take(frame: string): void {
    const fields = new Map<string, string>();
    for (const line of frame.split('\n')) {
      const at = line.indexOf(': ');
      if (at === 0) this.comments.push(line.slice(2));
      else fields.set(line.slice(0, at), line.slice(at + 2));
    }
    const data = fields.get('data');
    if (data === undefined) return;
    this.events.push({
      id: fields.get('id') ?? '',
      event: fields.get('event') ?? '',
      data: JSON.parse(data),
    });
  }
}
