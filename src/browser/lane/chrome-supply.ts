import { MillraceError } from '../../internal/errors.js';
import type { UsableChrome } from '../chrome/sandbox.js';
import { type ChromeSearch, describeMissing } from '../chrome/usable-chrome.js';

export interface ChromeSupplyOptions {
  /** Of the search at the start of the worker. */
  readonly found: ChromeSearch;
  readonly search: () => Promise<ChromeSearch>;
  readonly onFound: (chrome: UsableChrome) => void;
}

/**
 * The Chrome that the lanes of a worker start. Where the machine had none that starts, it is looked for again with each
 * trial of a lane, by one search for all of them, until there is one.
 */
export class ChromeSupply {
  readonly #options: ChromeSupplyOptions;
  #chrome: UsableChrome | null;
  #searching: Promise<ChromeSearch> | null = null;

  constructor(options: ChromeSupplyOptions) {
    this.#options = options;
    this.#chrome = options.found.chrome;
  }

  get chrome(): UsableChrome | null {
    return this.#chrome;
  }

  /** Why there was none at the start, in words; null: there is one. */
  get missing(): string | null {
    return this.#chrome === null ? describeMissing(this.#options.found) : null;
  }

  /** @throws MillraceError `chrome-missing` */
  async take(): Promise<UsableChrome> {
    if (this.#chrome !== null) return this.#chrome;
    this.#searching ??= this.#options.search().finally(() => {
      this.#searching = null;
    });
    const found = await this.#searching;
    if (found.chrome === null) throw new MillraceError('chrome-missing', describeMissing(found));
    if (this.#chrome === null) this.#options.onFound(found.chrome);
    this.#chrome = found.chrome;
    return found.chrome;
  }
}
