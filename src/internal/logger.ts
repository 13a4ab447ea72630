import { describeFailure } from './failure.js';
import { printable, printableJson } from './printable.js';
import { maskTokens } from './token-text.js';

/** Facts that go with a log line. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Where Millrace logs to. Any logger with these four methods fits, the console included.
 * A method must not throw.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** Levels from the most to the least talkative. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Drops everything. */
export const silentLogger: Logger = Object.freeze({
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
});

export interface LineLoggerOptions {
  /** Takes one finished line, without the line break. */
  readonly write: (line: string) => void;
  /** The least level that is written. @default 'info' */
  readonly level?: LogLevel | undefined;
  /** Write one JSON object a line instead of text. @default false */
  readonly json?: boolean | undefined;
  /** The time of a line. @default the system's clock */
  readonly now?: (() => Date) | undefined;
}

/**
 * A logger that writes one line per call: `time level message key=value …`, or a JSON object.
 * What a terminal would act upon is escaped (line breaks, controls, bidirectional overrides), passwords in addresses masked, and a line that
 * cannot be written is dropped: logging never ends what it reports on.
 */
export function createLineLogger(options: LineLoggerOptions): Logger {
  const { write, level = 'info', json = false, now = () => new Date() } = options;
  const least = logLevels.indexOf(level);
  const toLine = json ? jsonLine : textLine;
  const logAt = (name: Exclude<LogLevel, 'silent'>) => {
    if (logLevels.indexOf(name) < least) return () => undefined;
    return (message: string, fields?: LogFields): void => {
      try {
        write(toLine(now().toISOString(), name, message, fields ?? {}));
      } catch {
        // A full disk or a closed pipe must not end the work that is being logged.
      }
    };
  };
  return { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') };
}

/**
 * The same logger, but one whose methods never throw nor leave a rejection behind: a log that fails costs its lines,
 * never what they tell of.
 */
export function guardedLogger(logger: Logger): Logger {
  const guarded =
    (level: Exclude<LogLevel, 'silent'>) =>
    (...line: [message: string, fields?: LogFields]): void => {
      try {
        const answer: unknown = logger[level](...line);
        if (answer instanceof Promise) answer.catch(() => undefined);
      } catch {
        // Nobody is left to be told.
      }
    };
  return { debug: guarded('debug'), info: guarded('info'), warn: guarded('warn'), error: guarded('error') };
}

/** A logger that adds the same facts to every line. */
export function withLogFields(logger: Logger, extra: LogFields): Logger {
  return {
    debug: (message, fields) => logger.debug(message, { ...extra, ...fields }),
    info: (message, fields) => logger.info(message, { ...extra, ...fields }),
    warn: (message, fields) => logger.warn(message, { ...extra, ...fields }),
    error: (message, fields) => logger.error(message, { ...extra, ...fields }),
  };
}

function textLine(time: string, level: string, message: string, fields: LogFields): string {
  let line = `${time} ${level.padEnd(5)} ${printable(maskUrl(message))}`;
  for (const [key, value] of Object.entries(fields)) {
    if (value !== undefined) line += ` ${printable(key)}=${textField(value)}`;
  }
  return line;
}

function textField(value: unknown): string {
  const text = maskUrl(fieldText(value));
  const shown = printable(text.replace(/["\\]/g, '\\$&'));
  return /^[^\s"=]+$/.test(text) && shown === text ? text : `"${shown}"`;
}

function fieldText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return describeFailure(value).message;
  return typeof value === 'object' && value !== null ? JSON.stringify(plainField(value)) : String(value);
}

function jsonLine(time: string, level: string, message: string, fields: LogFields): string {
  const entries = Object.entries(fields).map(([key, value]) => [key, plainField(value)] as const);
  return printableJson(
    JSON.stringify({ ...Object.fromEntries(entries), time, level, message: maskUrl(message) }),
  );
}

/** A copy that JSON can tell; one field that it can't must not cost the line. */
function plainField(value: unknown): unknown {
  try {
    const text = JSON.stringify(value, maskingReplacer);
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    // Cyclic, or it throws while it is read.
    return '[unprintable]';
  }
}

function maskingReplacer(_key: string, value: unknown): unknown {
  if (typeof value === 'string') return maskUrl(value);
  if (typeof value === 'bigint') return String(value);
  return value instanceof Error ? describeFailure(value) : value;
}

const userInfoPattern = /([a-z][a-z0-9+.-]*:\/\/[^\s:@/"]*):[^\s/"]*@/gi;
/** Of an address of a database everything before the last `@` counts, also an unescaped `/`. */
const databaseUserInfoPattern = /((?:postgres|postgresql|mysql|mariadb):\/\/[^\s:@/]*):\S*@/gi;
const secretParameterPattern = /([?&](?:password|passwd|pwd|token|secret|sslpassword)=)[^&\s"]*/gi;

/**
 * The text with the password of every address in it replaced by `***`, also one that contains an
 * unescaped `@` or `/`, those given as query parameters, and the secret of every token. Everything else is left as it was; in
 * doubt more is masked rather than less.
 */
export function maskUrl(given: string): string {
  const text = maskTokens(given);
  if (!text.includes('://') && !text.includes('=')) return text;
  return text
    .replace(databaseUserInfoPattern, '$1:***@')
    .replace(userInfoPattern, '$1:***@')
    .replace(secretParameterPattern, '$1***');
}
