/**
 * Watches the page of one job for what would hold up its lane: a crash, a main thread that is busy (told from a process
 * that no longer answers at all, whose pages are then ended), dialogs that nobody answers, and floods of pop-ups.
 *
 * A dialog is the handler's to answer for a second; then it is dismissed, and "leave this page?" is answered with yes.
 */
import { type PageTimes, pageTimes, popUpsMost } from '../../core/browser-lane-rules.js';
import { setLongTimeout } from '../../internal/long-timeout.js';
import type { ChromeProcess } from '../chrome/chrome-process.js';
import type { JobPage } from '../context/job-page.js';

export interface PageGuardPorts {
  readonly onCrash: () => void;
  /** What was seen or done, in words. */
  readonly onNote: (what: string) => void;
  /** Ends its pages; why, in words. */
  readonly endPages: (why: string) => Promise<void>;
  /** @default those of the rules */
  readonly times?: PageTimes;
}

const patientDialogs = 10;

export class PageGuard {
  readonly #chrome: ChromeProcess;
  readonly #page: JobPage;
  readonly #ports: PageGuardPorts;
  readonly #times: PageTimes;
  readonly #off: (() => void)[] = [];
  readonly #popUps = new Set<string>();
  readonly #timers = new Set<{ cancel(): void }>();
  #dialogs = 0;
  #closed = 0;
  #isOver = false;

  constructor(chrome: ChromeProcess, page: JobPage, ports: PageGuardPorts) {
    this.#chrome = chrome;
    this.#page = page;
    this.#ports = ports;
    this.#times = ports.times ?? pageTimes;
    const { session } = page;
    const { browser } = chrome.connection;
    this.#off.push(
      session.on('Inspector.targetCrashed', () => this.#crashed()),
      session.on('Page.javascriptDialogOpening', ({ type }) => this.#dialogOpened(type)),
      browser.on('Target.targetCreated', ({ targetInfo }) => this.#targetCreated(targetInfo)),
      browser.on('Target.targetDestroyed', ({ targetId }) => void this.#popUps.delete(targetId)),
    );
    // Before the first navigation: what is asked for later, a page that spins never grants.
    session.send('Performance.enable').catch(() => undefined);
    this.#later(this.#times.everyMs, () => void this.#ping());
  }

  end(): void {
    this.#isOver = true;
    for (const off of this.#off.splice(0)) off();
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #crashed(): void {
    this.#ports.onCrash();
    this.#ports.onNote('its page has crashed');
  }

  #dialogOpened(type: string): void {
    const { session } = this.#page;
    const answer = (): void =>
      // Refused where the handler has answered it.
      void session
        .send('Page.handleJavaScriptDialog', { accept: type === 'beforeunload' })
        .catch(() => undefined);
    if (++this.#dialogs > patientDialogs) {
      answer();
      return;
    }
    const timer = this.#later(this.#times.dialogMs, answer);
    const off = session.on('Page.javascriptDialogClosed', () => {
      off();
      timer.cancel();
      this.#timers.delete(timer);
    });
    this.#off.push(off);
  }

  #targetCreated({
    targetId,
    browserContextId,
  }: {
    readonly targetId: string;
    readonly browserContextId?: string;
  }): void {
    const isOurs = browserContextId === this.#page.browserContextId && targetId !== this.#page.targetId;
    if (!isOurs) return;
    this.#popUps.add(targetId);
    if (this.#popUps.size <= popUpsMost) return;
    this.#chrome.connection.browser.send('Target.closeTarget', { targetId }).catch(() => undefined);
    if (++this.#closed === 1)
      this.#ports.onNote(`its page opened more than ${popUpsMost} others; newer ones are closed at once`);
  }

  async #ping(): Promise<void> {
    const { everyMs, busyMs, deadMs } = this.#times;
    const { session } = this.#page;
    const answers = (call: Promise<unknown>): Promise<boolean> =>
      call.then(() => true).catch(() => this.#isOver || session.closeReason !== null);
    const isFree = await answers(
      session.send('Runtime.evaluate', { expression: '1' }, { deadlineMs: busyMs }),
    );
    if (!isFree && !this.#isOver) {
      const isThere = await answers(
        session.send('Performance.getMetrics', undefined, { deadlineMs: deadMs }),
      );
      if (isThere) this.#ports.onNote('its page is busy');
      else if (!this.#isOver) await this.#ports.endPages('its page no longer answered and was ended');
    }
    if (!this.#isOver && session.closeReason === null) this.#later(everyMs, () => void this.#ping());
  }

  #later(ms: number, then: () => void): { cancel(): void } {
    const timer = setLongTimeout(() => {
      this.#timers.delete(timer);
      then();
    }, ms);
    this.#timers.add(timer);
    return timer;
  }
}
