import { Job } from 'sidequest';

let handle = () => undefined;

/** What each job does: the class is loaded from this file, so that what it calls is set here. */
export function onEachJob(use) {
  handle = use;
}

export class BenchJob extends Job {
  async run(payload) {
    handle(payload);
  }
}
