import { expect, test } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { createTestKit } from '../../../src/testing/index.js';

const record: string[] = [];
const mail = defineJob('mail', {
  limit: { group: 'smtp', max: 1, key: ({ tenant }: { tenant: string }) => tenant },
  cost: 3,
  requires: 'gpu',
  run: ({ input }: { input: { tenant: string } }) => void record.push(input.tenant),
});

test('[memory] a test kit runs what has a limit, a cost and labels, in its turns', async () => {
  await using kit = await createTestKit({ jobs: [mail] });
  for (const tenant of ['a', 'a', 'b']) await kit.millrace.dispatch(mail, { tenant });
  const report = await kit.runUntilIdle({ concurrency: 1 });
  expect(report.completed).toBe(3);
  expect(record).toEqual(['a', 'b', 'a']);
});
