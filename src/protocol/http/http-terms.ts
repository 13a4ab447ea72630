/** The limits and names of the HTTP API that hub and client keep. */

/** Of the body of a request; more goes through files. */
export const maxBodyBytes = 2 * 1024 ** 2;

/** Jobs in one `POST /jobs/many`. */
export const mostJobsAtOnce = 1_000;

/** Entries of one page. */
export const largestPage = 1_000;

/** The longest that one request waits for the result of a job; the client asks again. */
export const longestWaitMs = 30_000;

export const problemType = 'application/problem+json';
