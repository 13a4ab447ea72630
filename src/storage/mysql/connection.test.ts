import { describe, expect, it } from 'vitest';
import { serverOf } from './connection.js';

describe('the version of a server', () => {
  it.each([
    ['10.11.19-MariaDB-0+deb12u1', true, 'MariaDB 10.11.19'],
    ['5.5.5-10.6.0-MariaDB-log', true, 'MariaDB 10.6.0'],
    ['11.4.2-MariaDB', true, 'MariaDB 11.4.2'],
    ['8.0.36-0ubuntu0.22.04.1', false, 'MySQL 8.0.36'],
    ['8.0.11', false, 'MySQL 8.0.11'],
    ['9.1.0', false, 'MySQL 9.1.0'],
  ])('%s is taken', (text, isMariaDb, label) => {
    expect(serverOf(text, 1024)).toEqual({ isMariaDb, label, maxPacketBytes: 1024 });
  });

  it.each(['10.5.27-MariaDB', '5.5.5-10.3.39-MariaDB', '5.7.44', '8.0.4-rc', 'unknown'])(
    '%s is too old',
    (text) => {
      expect(() => serverOf(text, 1024)).toThrow(
        expect.objectContaining({ code: 'database-too-old', message: expect.stringContaining(text) }),
      );
    },
  );
});
