import { defineJob, Millrace } from '../../../dist/index.js';

export async function openQueue({ database }) {
  let handle = () => undefined;
  const noop = defineJob('noop', {
    async run({ input }) {
      handle(input);
    },
  });
  const millrace = new Millrace({ database, jobs: [noop], migrate: 'auto' });
  await millrace.open();
  return {
    enqueue: (payload) => millrace.dispatch(noop, payload),
    bulk: (payloads) => millrace.dispatchMany(payloads.map((input) => ({ job: noop, input }))),
    async work({ concurrency, onJob }) {
      handle = onJob;
      await millrace.worker({ concurrency }).start();
    },
    async unfinished() {
      const { pending, processing } = await millrace.stats('default');
      return pending + processing;
    },
    close: () => millrace.close(),
  };
}
