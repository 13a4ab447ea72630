/** What becomes of a command that comes in under an idempotency key. */
export type CommandAdmission<Answer> =
  | { readonly kind: 'run' }
  /** It runs now: wait for that one. */
  | { readonly kind: 'running' }
  | { readonly kind: 'answered'; readonly answer: Answer }
  /** It ran, and its answer is no longer kept. It is never run again. */
  | { readonly kind: 'answer-gone' }
  /** The key stands for another command. */
  | { readonly kind: 'conflict' }
  /** No more keys are kept, and one that is not kept could run twice. */
  | { readonly kind: 'full' };

export interface SessionCommandsOptions {
  /** Keys remembered until the session ends. */
  readonly mostKeys: number;
  /** Answers remembered; those of the newest commands. */
  readonly mostAnswers: number;
}

interface Known<Answer> {
  readonly fingerprint: string;
  state: 'running' | 'answer-gone' | { readonly answer: Answer };
}

/**
 * Commands of one session by key, so that one that is sent again after a cut runs once. A page is not put back by running a
 * click twice: a key is kept as long as its session, and an answer that was dropped is said to be gone.
 */
export class SessionCommands<Answer> {
  readonly #options: SessionCommandsOptions;
  readonly #known = new Map<string, Known<Answer>>();
  /** Keys with an answer, oldest first. */
  readonly #answered: string[] = [];

  constructor(options: SessionCommandsOptions) {
    this.#options = options;
  }

  /** `fingerprint` is equal for equal commands. A command that is told to run is running from here on. */
  admit(key: string, fingerprint: string): CommandAdmission<Answer> {
    const known = this.#known.get(key);
    if (known === undefined) return this.#begin(key, fingerprint);
    if (known.fingerprint !== fingerprint) return { kind: 'conflict' };
    if (typeof known.state === 'string') return { kind: known.state };
    return { kind: 'answered', answer: known.state.answer };
  }

  /** The end of a command that was told to run; an error is an answer too. A second end of it changes nothing. */
  answered(key: string, answer: Answer): void {
    const known = this.#known.get(key);
    if (known?.state !== 'running') return;
    known.state = { answer };
    this.#answered.push(key);
    if (this.#answered.length > this.#options.mostAnswers) this.#dropOldest();
  }

  #begin(key: string, fingerprint: string): CommandAdmission<Answer> {
    if (this.#known.size >= this.#options.mostKeys) return { kind: 'full' };
    this.#known.set(key, { fingerprint, state: 'running' });
    return { kind: 'run' };
  }

  #dropOldest(): void {
    const oldest = this.#known.get(this.#answered.shift() ?? '');
    if (oldest !== undefined) oldest.state = 'answer-gone';
  }
}
