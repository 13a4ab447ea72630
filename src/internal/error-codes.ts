/** What is known about an error code before anything has gone wrong. */
export interface ErrorCodeInfo {
  /** Whether the same call, made again later, can succeed without anybody changing anything. */
  readonly retryable: boolean;
  /** What happened, in one sentence. */
  readonly meaning: string;
  /** What the reader can do about it, in one sentence. */
  readonly fix: string;
}

/**
 * Every code a `MillraceError` can carry. `docs/reference/errors.md` is generated from this list.
 * A code is part of the public contract: it may be added, never renamed.
 */
export const errorCodes = {
  // What the caller passed in.
  'option-unknown': {
    retryable: false,
    meaning: 'An option was given that does not exist.',
    fix: 'Correct the spelling, or remove it; the message names the nearest option that exists.',
  },
  'option-invalid': {
    retryable: false,
    meaning: 'An option has a value it cannot take.',
    fix: 'Use a value of the form the message says it expected.',
  },
  'settings-invalid': {
    retryable: false,
    meaning: 'One or more settings cannot be used, alone or together.',
    fix: 'Correct every setting in the list; all problems found are listed at once.',
  },
  'config-invalid': {
    retryable: false,
    meaning: 'The configuration file cannot be loaded, or what it exports is not a configuration.',
    fix: 'Export the value of defineConfig({ … }) as the default export of millrace.config.ts.',
  },
  'usage-invalid': {
    retryable: false,
    meaning: 'A command was called with flags or arguments it does not understand.',
    fix: 'Run the command with --help; it shows every flag and an example.',
  },
  'payload-invalid': {
    retryable: false,
    meaning: 'A job input cannot be kept as JSON, or the schema of the job refuses it.',
    fix: 'Change the value at the path in the message to one that JSON and the schema can hold.',
  },
  'payload-too-large': {
    retryable: false,
    meaning: 'A job input is larger than the limit.',
    fix: 'Keep the data in a file or a table and dispatch a reference to it.',
  },
  'upcast-failed': {
    retryable: false,
    meaning: 'A lift that was to bring an input of an earlier version up to that of the code threw an error.',
    fix: 'Correct the function of the list "upcast" that the message names; the job is retried as after any failure.',
  },
  'file-name-invalid': {
    retryable: false,
    meaning: 'The name of a file has nothing in it that a file can be called by.',
    fix: 'Give the file a name of letters and digits, such as report.pdf.',
  },
  'file-too-large': {
    retryable: false,
    meaning: 'A file is larger than the limit for one file.',
    fix: 'Raise MILLRACE_MAX_FILE, or put the file in parts.',
  },
  'files-full': {
    retryable: false,
    meaning: 'A job has as many files, or as many bytes in them, as one job may have.',
    fix: 'Raise MILLRACE_MAX_JOB_FILES, or put fewer files from one job.',
  },
  'file-not-found': {
    retryable: false,
    meaning: 'There is no such file, or its bytes are no longer in the store.',
    fix: 'List the files of the job; they go with it at the end of its retention.',
  },
  'range-unsatisfiable': {
    retryable: false,
    meaning: 'A part of a file was asked for that lies outside of it.',
    fix: 'Ask for bytes within the size of the file, or for all of it without the header Range.',
  },
  'file-upload-lost': {
    retryable: true,
    meaning: 'The first part of a file that was on its way is no longer where it was sent to.',
    fix: 'Put the file again; a retry of the job does.',
  },
  'file-store-full': {
    retryable: true,
    meaning: 'The disk on which files are kept has no room left.',
    fix: 'Make room on it, or move the files to another disk and name that folder by MILLRACE_FILES.',
  },
  'file-store-unusable': {
    retryable: true,
    meaning: 'The folder for files cannot be read or written.',
    fix: 'Make the folder that the message names readable and writable for this user, or set MILLRACE_FILES to another one.',
  },
  'file-store-elsewhere': {
    retryable: false,
    meaning:
      'The files of this database are kept in a folder that this process does not have, as on another machine.',
    fix: 'Set MILLRACE_FILES to the folder that all processes share, or let the worker get its jobs from a hub beside it.',
  },
  'folder-unusable': {
    retryable: false,
    meaning: 'The folder for what lanes write for a while cannot be used.',
    fix: 'Make the folder that the message names writable for this user alone, or set TMPDIR to another one.',
  },
  'browser-call-failed': {
    retryable: true,
    meaning: 'Chrome refused what it was asked to do, or the page it was asked of is gone.',
    fix: 'Read the reason in the message; where a page has crashed or was closed, the job is retried in a fresh one.',
  },
  'chrome-missing': {
    retryable: true,
    meaning: 'There is no Chrome on this machine that starts.',
    fix: 'Install one, or name one by CHROME_PATH: lanes look for it again and again, without a restart of the worker.',
  },
  'puppeteer-missing': {
    retryable: false,
    meaning: 'A handler uses ctx.page, and Puppeteer is not installed or not of a version that can be used.',
    fix: 'Run npm i puppeteer-core@24, or use ctx.tab, which needs no package.',
  },
  'target-refused': {
    retryable: false,
    meaning: 'A page was to open an address that pages in browser lanes may not reach.',
    fix: 'Open public addresses only, or name the target in BROWSER_PRIVATE_TARGETS of the worker.',
  },
  'page-unreachable': {
    retryable: true,
    meaning: 'A page could not be opened.',
    fix: 'Read the reason of the network in the message; check the address, and whether this machine reaches it.',
  },
  'page-element-missing': {
    retryable: true,
    meaning: 'A page did not have the element that was to be used, or not in a state to be used.',
    fix: 'Correct the selector that the message names, or wait for what makes the element appear.',
  },
  'page-script-failed': {
    retryable: true,
    meaning: 'Code that was run in a page threw.',
    fix: 'Read what it threw in the message; such code knows only the page and its one argument.',
  },
  'page-crashed': {
    retryable: true,
    meaning: 'The page of a job crashed or was closed while it was used.',
    fix: 'Nothing: the job is retried in a fresh page. When it happens again and again, give the machine more memory.',
  },
  'result-invalid': {
    retryable: false,
    meaning: 'What a handler returned does not fit the output schema of its job.',
    fix: 'Return what the schema describes, or correct the schema.',
  },
  'result-too-large': {
    retryable: false,
    meaning:
      'The awaited job has completed, but its result was larger than the limit, and only its beginning was kept.',
    fix: 'Keep what is large in a file or a table and return a reference to it; the work itself is done.',
  },
  'json-invalid': {
    retryable: false,
    meaning: 'A text that should be JSON is not.',
    fix: 'Correct the text at the position in the message.',
  },
  'queue-name-invalid': {
    retryable: false,
    meaning: 'A queue name or a list of queue names is not usable.',
    fix: 'Use 1 to 100 letters, digits and _ . : -; separate several queues by commas.',
  },
  'job-name-invalid': {
    retryable: false,
    meaning: 'A job name is not usable.',
    fix: 'Use 1 to 100 letters, digits and _ . : / -.',
  },
  'job-name-duplicate': {
    retryable: false,
    meaning: 'Two jobs were defined under one name.',
    fix: 'Give one of them another name; a name stands for one handler.',
  },
  'job-name-unknown': {
    retryable: false,
    meaning: 'No job of this name was defined here.',
    fix: 'Add the definition to jobs in the configuration, or correct the name.',
  },
  'cursor-invalid': {
    retryable: false,
    meaning: 'A page cursor is not one that Millrace made.',
    fix: 'Pass the cursor of the previous page unchanged, or none to begin at the first page.',
  },
  'handler-not-inline': {
    retryable: false,
    meaning: 'The job has no handler that can run in this process.',
    fix: 'Pass the definition with its run function, or run the job on a worker that has it.',
  },

  // What the state of jobs does not allow.
  'job-not-found': {
    retryable: false,
    meaning: 'There is no job with this id.',
    fix: 'Check the id; finished jobs are removed when their retention is over.',
  },
  'job-already-final': {
    retryable: false,
    meaning: 'The job has already ended, so this can no longer be done to it.',
    fix: 'Look at the job; a job that has ended can be retried or deleted.',
  },
  'transition-illegal': {
    retryable: false,
    meaning: 'The job is in a status from which this step does not exist.',
    fix: 'Look at the status of the job and choose what applies to it.',
  },
  'id-ambiguous': {
    retryable: false,
    meaning: 'A shortened id fits more than one job.',
    fix: 'Give more characters of the id, or all of it.',
  },
  'idempotency-conflict': {
    retryable: false,
    meaning: 'The idempotency key was used before with another name or input.',
    fix: 'Use a new key for new work, or send exactly what was sent the first time.',
  },
  'parent-not-found': {
    retryable: false,
    meaning: 'A job was to wait for a job that does not exist.',
    fix: 'Dispatch the job to wait for first, or correct its id.',
  },
  'dependency-cycle': {
    retryable: false,
    meaning: 'Jobs were to wait for each other in a circle, so none of them could ever start.',
    fix: 'Remove one of the dependencies on the path in the message.',
  },
  'worker-not-found': {
    retryable: false,
    meaning: 'There is no worker with this id.',
    fix: 'List the workers; those silent for long are forgotten.',
  },
  'worker-alive': {
    retryable: false,
    meaning: 'The worker lives, so its registration cannot be removed.',
    fix: 'Stop its process, or drain it; only a worker that is shown as offline can be forgotten.',
  },

  'unique-key-held': {
    retryable: false,
    meaning: 'The job cannot be retried, since another job holds its unique key.',
    fix: 'Wait for that job to end, or cancel it; then retry.',
  },

  // The HTTP API of a hub.
  'request-invalid': {
    retryable: false,
    meaning: 'A request to the hub cannot be read, or does not have the shape that its route asks for.',
    fix: 'Correct what the list of problems names; /docs on the hub shows every route with its shapes.',
  },
  'request-too-large': {
    retryable: false,
    meaning: 'The body of a request to the hub is larger than the limit.',
    fix: 'Send fewer jobs at once, or keep the data in a file or a table and send a reference to it.',
  },
  'content-type-unsupported': {
    retryable: false,
    meaning: 'A request that changes something did not say that its body is JSON.',
    fix: 'Send the header: Content-Type: application/json.',
  },
  'route-unknown': {
    retryable: false,
    meaning: 'The hub has nothing at this address.',
    fix: 'Look at /docs on the hub for the addresses there are.',
  },
  'method-not-allowed': {
    retryable: false,
    meaning: 'The address exists, but not with this method.',
    fix: 'Use one of the methods that the header Allow names.',
  },
  'hub-busy': {
    retryable: true,
    meaning: 'The hub does as much of this at once as it may.',
    fix: 'Try again after the time in the header Retry-After.',
  },

  // What became of an awaited job or of a call.
  'job-failed': {
    retryable: false,
    meaning: 'The awaited job failed for good and was buried.',
    fix: 'Look at its failures, cure the cause, then retry the job.',
  },
  'job-cancelled': {
    retryable: false,
    meaning: 'The awaited job was cancelled.',
    fix: 'Retry the job if its work is still wanted.',
  },
  'result-timeout': {
    retryable: true,
    meaning: 'The awaited job had not ended when the time to wait for its result was over.',
    fix: 'Wait again or longer; the job itself goes on.',
  },
  'deadline-exceeded': {
    retryable: true,
    meaning: 'An operation did not finish within its deadline; the message names which one.',
    fix: 'Look at what it waited for; raise the deadline only when the time is really needed.',
  },
  aborted: {
    retryable: false,
    meaning: 'The operation was given up because its signal was aborted.',
    fix: 'Nothing, when you aborted it; otherwise look at the cause.',
  },
  closed: {
    retryable: false,
    meaning: 'The client, storage or service was closed and takes no more calls.',
    fix: 'Make the call before closing, or open a new one.',
  },
  'lease-lost': {
    retryable: false,
    meaning: 'The right to run the job was lost, so nothing more can be written about this run.',
    fix: 'Stop the work; the job runs elsewhere or has ended.',
  },
  'attempt-timed-out': {
    retryable: true,
    meaning: 'The attempt ran longer than its timeout; its signal was fired with this reason.',
    fix: 'Make the handler end on its signal, raise its timeout, or split the work.',
  },
  'worker-stopping': {
    retryable: true,
    meaning: 'The worker stops and its deadline has come; the job goes back uncharged and runs again.',
    fix: 'Nothing; raise MILLRACE_STOP_TIMEOUT when jobs need longer to end.',
  },

  // The database.
  'database-url-invalid': {
    retryable: false,
    meaning: 'The database address cannot be understood.',
    fix: 'Use sqlite:<file>, sqlite::memory:, postgres://… or mysql://….',
  },
  'driver-missing': {
    retryable: false,
    meaning: 'The package that talks to this database is not installed or cannot be loaded.',
    fix: 'Install the package that the message names.',
  },
  'database-unreachable': {
    retryable: true,
    meaning: 'No connection to the database can be made.',
    fix: 'Check that it runs and that host, port and network are right; workers go on trying.',
  },
  'database-access-denied': {
    retryable: false,
    meaning: 'The database refused the user, the password or a permission.',
    fix: 'Correct the user and password in the address, or grant what the message names.',
  },
  'database-not-found': {
    retryable: false,
    meaning: 'The server answers, but has no database of this name.',
    fix: 'Create the database, or correct its name in the address.',
  },
  'database-too-old': {
    retryable: false,
    meaning: 'The version of the database server is older than Millrace can use.',
    fix: 'Use PostgreSQL 13, MySQL 8.0.11, MariaDB 10.6 or newer.',
  },
  'database-read-only': {
    retryable: false,
    meaning: 'The database takes no writes.',
    fix: 'Connect to the primary, or make the file and its folder writable.',
  },
  'database-full': {
    retryable: true,
    meaning: 'The disk or the quota of the database is full.',
    fix: 'Free space; nothing that was stored is lost, and workers go on trying.',
  },
  'database-locked': {
    retryable: true,
    meaning: 'Another process held the database until the deadline.',
    fix: 'Find the long transaction (millrace doctor shows it) and end it; then try again.',
  },
  'database-gone': {
    retryable: true,
    meaning: 'The SQLite file, or its -wal or -shm, was removed or replaced while this process had it open.',
    fix: 'Put the file back, or stop every process that has it open, restore it and start them again; none is made anew meanwhile.',
  },
  'database-corrupt': {
    retryable: false,
    meaning: 'The file is not a database, or is damaged.',
    fix: 'Check the path; restore a damaged file from a backup.',
  },
  'connection-lost': {
    retryable: true,
    meaning: 'The connection to the database ended during a call.',
    fix: 'Try again; calls that carry their own id are safe to repeat.',
  },
  'transaction-conflict': {
    retryable: true,
    meaning: 'Transactions were in each other’s way more often than could be retried.',
    fix: 'Try again; keep transactions that touch jobs short.',
  },
  'query-failed': {
    retryable: false,
    meaning: 'The database refused a statement for a reason that has no code of its own.',
    fix: 'Look at the cause; if the statement is ours, please report it.',
  },

  // The hub.
  'hub-unreachable': {
    retryable: true,
    meaning: 'No hub can be reached, or the connection to it ended during a call.',
    fix: 'Check that a hub runs and that host, port and network are right; workers go on trying.',
  },
  'hub-refused': {
    retryable: false,
    meaning: 'The hub did not do what was asked of it; the message tells why.',
    fix: 'Cure what the message names; where it names nothing, compare the versions of hub and worker.',
  },
  'hub-not-listening': {
    retryable: false,
    meaning: 'The hub cannot listen on its address and port.',
    fix: 'Stop what listens there already, or choose another address or port.',
  },
  'needs-database': {
    retryable: false,
    meaning:
      'This can only be done with the database, and the worker that was asked reaches it through a hub.',
    fix: 'Run the job on a worker with a database, or do this without it: return the value, dispatch by the context.',
  },

  // A transaction of the user's.
  'tx-invalid': {
    retryable: false,
    meaning:
      'What was passed as "tx" is no open transaction on the database that holds the jobs; nothing was written.',
    fix: 'Pass what your driver or ORM hands you inside its transaction, on the database of Millrace.',
  },
  'tx-aborted': {
    retryable: false,
    meaning: 'The transaction passed as "tx" has failed and can only be rolled back.',
    fix: 'Roll back and run the whole transaction again; its cause tells what the database said.',
  },

  // The schema.
  'schema-missing': {
    retryable: false,
    meaning: 'The database has no Millrace tables yet.',
    fix: "Run: npx millrace migrate --database <its URL>, or give the client migrate: 'auto'.",
  },
  'schema-too-old': {
    retryable: false,
    meaning: 'The tables are older than this version of Millrace needs.',
    fix: "Run: npx millrace migrate --database <its URL>, or give the client migrate: 'auto'.",
  },
  'schema-too-new': {
    retryable: false,
    meaning: 'The tables were migrated by a newer Millrace that no longer admits this version.',
    fix: 'Upgrade the package in this process.',
  },
  'migration-failed': {
    retryable: false,
    meaning: 'A migration could not be applied.',
    fix: 'Look at the cause, cure it and run millrace migrate again; it goes on where it stopped.',
  },

  // Who may use a hub.
  unauthorized: {
    retryable: false,
    meaning: 'A hub was asked without a token, or with one that is unknown, revoked or expired.',
    fix: 'Make a token by "millrace token create" and send it as Authorization: Bearer; a worker has it in WORKER_SECRET.',
  },
  forbidden: {
    retryable: false,
    meaning: 'The token is good, but its role does not allow this.',
    fix: 'Use a token of the role that the message names.',
  },
  'host-refused': {
    retryable: false,
    meaning: 'A hub was asked under a name that it does not know as its own.',
    fix: 'Add the name to HUB_ALLOWED_HOSTS of the hub, or ask it under one of its own.',
  },
  'origin-refused': {
    retryable: false,
    meaning: 'A page of another site tried to change something on a hub, or to open a socket to it.',
    fix: 'Use the page of the hub itself; where a proxy gives the hub another name, add that name to HUB_ALLOWED_HOSTS.',
  },
  'token-in-url': {
    retryable: false,
    meaning: 'A token was sent in an address, where logs and histories keep it.',
    fix: 'Revoke that token, and send the next one as Authorization: Bearer.',
  },
  'rate-limited': {
    retryable: true,
    meaning: 'More requests, connections or wrong tokens came from one address or token than a hub takes.',
    fix: 'Wait as long as Retry-After says; HUB_RATE_LIMIT and HUB_MAX_CONNECTIONS move the limits.',
  },
  'tokens-missing': {
    retryable: false,
    meaning:
      'A hub was to listen beyond this machine while there is no token, so anybody could have used it.',
    fix: 'Create a token by "millrace token create --role admin --name <who>", or listen on 127.0.0.1.',
  },
  'token-not-found': {
    retryable: false,
    meaning: 'There is no token with this id.',
    fix: 'List the tokens; the id is the part between mr_ and the second _.',
  },

  // This machine, and ourselves.
  internal: {
    retryable: false,
    meaning: 'Something happened that Millrace holds to be impossible.',
    fix: 'Please report it with the message and the details.',
  },
} as const satisfies Record<string, ErrorCodeInfo>;

/** The codes of `errorCodes`. */
export type ErrorCode = keyof typeof errorCodes;

/** Whether a text is a code of this version. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorCodes, text);
}
