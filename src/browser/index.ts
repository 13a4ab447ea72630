import { describeFailure } from '../internal/failure.js';
import { PrivateTargets } from '../internal/private-targets.js';
import type { BrowserHere, BrowserKind } from '../worker/lanes/browser-kind.js';
import type { UsableChrome } from './chrome/sandbox.js';
import { type ChromeSearch, describeChrome, describeMissing, usableChrome } from './chrome/usable-chrome.js';
import { browserLaneSource } from './lane/browser-lane-source.js';
import { MissingLane } from './lane/missing-lane.js';
import { TargetPolicy } from './net/target-policy.js';

/** What one lane needs with ordinary pages; idle it is a fifth of that, of full Chrome a third [measured]. */
const shellBytes = 700 * 1024 ** 2;
const fullBytes = 1000 * 1024 ** 2;

/** What a worker loads where it is asked for browser lanes. */
export const browserKind: BrowserKind = {
  async prepare({ chromePath, privateTargets, hubs, logger, signal }) {
    const search = await usableChrome(chromePath, signal).catch(
      (error: unknown): ChromeSearch => ({ chrome: null, failures: [describeFailure(error).message] }),
    );
    const { chrome } = search;
    if (chrome === null) {
      const why = describeMissing(search);
      logger.error(`browser lanes: ${why}`);
      return missing(why);
    }
    logger.info(`browser lanes: ${describeChrome(chrome)}`);
    if (!chrome.hasSandbox) {
      logger.warn(
        'browser lanes: Chrome runs without its sandbox, which it can’t have here. Run the worker as another user than root, on a kernel or with a container profile that allows user namespaces',
      );
    }
    return here(chrome, policyOf(privateTargets, hubs));
  },
};

/** The setting has been checked before. */
function policyOf(privateTargets: string, hubs: readonly string[]): TargetPolicy {
  return new TargetPolicy({
    privateTargets: PrivateTargets.parse(privateTargets) ?? PrivateTargets.none,
    closed: hubs.map((url) => {
      const { hostname, port, protocol } = new URL(url);
      return { host: hostname, port: port === '' ? (protocol === 'wss:' ? 443 : 80) : Number(port) };
    }),
  });
}

function here(chrome: UsableChrome, policy: TargetPolicy): BrowserHere {
  const { product, source, executable, hasSandbox, isShell } = chrome;
  return {
    perLaneBytes: isShell ? shellBytes : fullBytes,
    source: (size) => ({
      ...browserLaneSource({ size, chrome, policy }),
      facts: { chrome: product, source, executable, sandbox: hasSandbox },
    }),
  };
}

const missing = (why: string): BrowserHere => ({
  perLaneBytes: shellBytes,
  source: () => ({ kind: 'browser', facts: { chrome: null }, create: () => [new MissingLane(why)] }),
});
