import { describe, expect, it } from 'vitest';
import { parseWhere } from './parse-where.js';

describe('--where', () => {
  it('is terms, separated by commas or given again', () => {
    expect(parseWhere('retry', ['status=buried,name=send.mail', 'tag=a/b', 'older-than=1h'])).toEqual({
      status: 'buried',
      name: 'send.mail',
      tag: 'a/b',
      createdBefore: '3600000ms',
    });
    expect(parseWhere('retry', ['error~timeout of api, ended-after=2d,worker=w-1'])).toEqual({
      errorText: 'timeout of api',
      finishedAfter: '172800000ms',
      worker: 'w-1',
    });
  });

  it('takes a value with a comma, an equals sign or quotes', () => {
    expect(parseWhere('retry', ['error~"a, b=\\"c\\"",queue=x'])).toEqual({
      errorText: 'a, b="c"',
      queue: 'x',
    });
    expect(parseWhere('retry', ['error~a=b~c'])).toEqual({ errorText: 'a=b~c' });
    expect(parseWhere('retry', ['created-before=2030-01-31T08:00:00Z'])).toEqual({
      createdBefore: new Date('2030-01-31T08:00:00Z'),
    });
  });

  it.each([
    ['', /there is no ""/],
    ['status', /expected status=…, got "status"/],
    ['status=', /expected status=…, got "status="/],
    ['status~buried', /expected status=…/],
    ['error=x', /expected error~text, got "error=x"/],
    ['stauts=x', /Did you mean status\?/],
    ['constructor=x', /there is no "constructor"/],
    ['queue=a,queue=b', /given twice/],
    ['older-than=1h,created-before=2h', /given twice/],
    ['status=done', /--where status: expected one of pending/],
    ['tag=a b', /--where tag: expected/],
    ['ended-after=soon', /--where ended-after \(how long ago/],
    ['error~"open', /expected key=value|expected error~text/],
  ])('refuses %j', (text, message) => {
    expect(() => parseWhere('retry', [text])).toThrow(message);
  });
});
