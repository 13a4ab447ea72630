/** The limits and names of the HTTP API that hub and client keep. */

/** Of the body of a request; more goes through files. */
export const maxBodyBytes = 2 * 1024 ** 2;

/** Jobs in one `POST /jobs/many`. */
export const mostJobsAtOnce = 1_000;

/** Entries of one page. */
export const largestPage = 1_000;

/** The longest that one request waits for the result of a job; the client asks again. */
export const longestWaitMs = 30_000;

/** What a route asks of who calls it; `open`: nothing. Tokens of workers may use no other than those. */
export const routeRoles = ['open', 'read', 'submit', 'admin'] as const;

export type RouteRole = (typeof routeRoles)[number];

export const problemType = 'application/problem+json';
