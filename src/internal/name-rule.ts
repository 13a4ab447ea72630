// The longest has 100 characters: MySQL's index on it has room for that.
const queueNamePattern = /^[A-Za-z0-9_.:-]{1,100}$/;
const jobNamePattern = /^[A-Za-z0-9_.:/-]{1,100}$/;

/** The rule of queue names, in words for messages. */
export const queueNameRule = '1 to 100 of the letters A-Z a-z, digits and _ . : -';
/** The rule of job names, in words for messages. */
export const jobNameRule = '1 to 100 of the letters A-Z a-z, digits and _ . : / -';

export function isQueueName(value: unknown): value is string {
  return typeof value === 'string' && queueNamePattern.test(value);
}

export function isJobName(value: unknown): value is string {
  return typeof value === 'string' && jobNamePattern.test(value);
}
