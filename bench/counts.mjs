/**
 * What is wrong with the completions of a drain; empty when every job was handled exactly once and is completed in the
 * database. `parts` are the answers of the processes that drained, each with a byte a job.
 */
export function problemsOfDrain({ jobs, parts, completed, unfinished }) {
  const times = new Uint32Array(jobs);
  let strangers = 0;
  for (const part of parts) {
    strangers += part.strangers;
    for (let index = 0; index < jobs; index += 1) times[index] += part.handled[index] ?? 0;
  }
  let missing = 0;
  let doubled = 0;
  for (const count of times) {
    if (count === 0) missing += 1;
    if (count > 1) doubled += 1;
  }
  const problems = [];
  if (missing > 0) problems.push(`${missing} of ${jobs} jobs never handled`);
  if (doubled > 0) problems.push(`${doubled} of ${jobs} jobs handled more than once`);
  if (strangers > 0) problems.push(`${strangers} jobs handled that were not of this drain`);
  if (completed !== jobs) problems.push(`the database counts ${completed} completed jobs, expected ${jobs}`);
  if (unfinished !== 0) problems.push(`the database holds ${unfinished} unfinished jobs, expected 0`);
  return problems;
}
