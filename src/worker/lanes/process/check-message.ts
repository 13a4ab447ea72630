import { isUuid } from '../../../internal/uuid.js';
import type { LaneUsage } from '../lane.js';
import type { LaneCall, LeaselessSettlement, UpMessage } from './messages.js';

type Fields = Readonly<Record<string, unknown>>;

const levels = ['debug', 'info', 'warn', 'error'];
const lineKinds = ['log', 'progress'];
const buryReasons = ['attempts-exhausted', 'non-retriable'];

/** A message of a child, or null when it is none that could be. */
export function checkUpMessage(value: unknown): UpMessage | null {
  if (!isObject(value)) return null;
  return fits(value) ? (value as unknown as UpMessage) : null;
}

function fits(message: Fields): boolean {
  if (message['type'] === 'ready') return isTexts(message['names']);
  return isCount(message['run']) && fitsJob(message);
}

function fitsJob(message: Fields): boolean {
  switch (message['type']) {
    case 'started':
      return true;
    case 'line':
      return isObject(message['line']) && isLine(message['line']);
    case 'said':
      return (
        levels.includes(message['level'] as string) &&
        isText(message['message']) &&
        isObject(message['fields'])
      );
    case 'call':
      return isCount(message['seq']) && isObject(message['call']) && isCall(message['call']);
    case 'written':
      return isSettlement(message['settlement']);
    case 'ended':
      return (
        (message['settlement'] === null || isSettlement(message['settlement'])) &&
        typeof message['isSettled'] === 'boolean' &&
        (message['usage'] === null || isUsage(message['usage']))
      );
    default:
      return false;
  }
}

function isLine({ seq, kind, level, text }: Fields): boolean {
  return (
    isCount(seq) && lineKinds.includes(kind as string) && levels.includes(level as string) && isText(text)
  );
}

function isCall(call: Fields): call is Fields & LaneCall {
  switch (call['method']) {
    case 'enqueue':
      return Array.isArray(call['jobs']) && call['jobs'].length > 0 && call['jobs'].every(isNewJob);
    case 'renew':
      return true;
    case 'was-settled':
      return typeof call['hasFailed'] === 'boolean';
    default:
      return isFileCallShape(call);
  }
}

function isFileCallShape({ method, start, offset, data, sizeBytes, id }: Fields): boolean {
  switch (method) {
    case 'file-begin':
    case 'file-drop':
      return isUpload(start);
    case 'file-piece':
      return isUpload(start) && isCount(offset) && isText(data);
    case 'file-end':
      return isUpload(start) && isCount(sizeBytes);
    case 'file-list':
      return true;
    case 'file-find':
      return isId(id);
    case 'file-read':
      return isId(id) && isCount(offset);
    default:
      return false;
  }
}

const isId = (value: unknown): boolean => isText(value) && isUuid(value);

function isUpload(value: unknown): boolean {
  return isObject(value) && isId(value['id']) && isText(value['name']) && isText(value['type']);
}

/** As far as storage relies on it without looking. */
function isNewJob(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { id, name, queue, payload, version, priority, maxAttempts, due, tags } = value;
  return (
    [id, name, queue, payload].every(isText) &&
    [version, priority, maxAttempts].every((number) => Number.isInteger(number)) &&
    isTexts(tags) &&
    isObject(due)
  );
}

function isSettlement(value: unknown): value is LeaselessSettlement {
  if (!isObject(value)) return false;
  const { kind, result, delayMs, errors, reason } = value;
  switch (kind) {
    case 'completed':
      return result === null || isText(result);
    case 'retry':
      return isDelay(delayMs) && isText(errors);
    case 'buried':
      return buryReasons.includes(reason as string) && isText(errors);
    case 'cancelled':
      return reason === null || isText(reason);
    case 'snoozed':
      return isDelay(delayMs);
    case 'put-back':
      return isDelay(delayMs) && isText(reason);
    default:
      return false;
  }
}

function isUsage(value: unknown): value is LaneUsage {
  return isObject(value) && isDelay(value['cpuMs']) && isDelay(value['peakRssBytes']);
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string';
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;
const isDelay = (value: unknown): boolean =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;
