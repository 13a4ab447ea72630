import { isMillraceError } from '../../../internal/errors.js';
import { monotonicMs } from '../../monotonic.js';
import type { RecycleTurns, TurnAnswer } from '../../recycle-turns.js';
import type { HubClient } from './hub-client.js';

/** A hub that does not answer for so long keeps no worker from going. */
const unansweredMs = 60_000;

/** Turns as the hub gives them: asked again they are extended; they lapse by their time. */
export class HubTurns implements RecycleTurns {
  readonly #client: HubClient;
  #unansweredSinceMs: number | null = null;

  constructor(client: HubClient) {
    this.#client = client;
  }

  async take(): Promise<TurnAnswer> {
    try {
      const { granted } = await this.#client.request({ type: 'turn', wanted: true }, 'turn-answer');
      this.#unansweredSinceMs = null;
      return { isGranted: granted, turns: null };
    } catch (error) {
      if (!isMillraceError(error)) throw error;
      this.#unansweredSinceMs ??= monotonicMs();
      if (monotonicMs() - this.#unansweredSinceMs < unansweredMs) throw error;
      return { isGranted: true, turns: null };
    }
  }

  /** The hub knows by the goodbye. */
  leave(): Promise<void> {
    return Promise.resolve();
  }

  async giveBack(): Promise<void> {
    await this.#client.request({ type: 'turn', wanted: false }, 'turn-answer');
  }
}
