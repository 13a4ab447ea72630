import { defineJob, Millrace } from '../../dist/index.js';

/** The job of every measurement. `onInput` is what its handler does: count. */
export function openClient(database, onInput = () => undefined) {
  const noop = defineJob('noop', {
    async run({ input }) {
      onInput(input);
    },
  });
  return { millrace: new Millrace({ database, jobs: [noop], migrate: 'auto' }), noop };
}
