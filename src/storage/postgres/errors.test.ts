import { expect, test } from 'vitest';
import { fromDriver } from './errors.js';

test.each([
  ['28P01', 'database-access-denied', /^PostgreSQL, claim: .*\. Correct the user and password/],
  ['3D000', 'database-not-found', /^PostgreSQL, claim: .*\. Create the database/],
  ['57P03', 'database-unreachable', /^PostgreSQL, claim: .*\. Check that the server runs/],
  ['42P01', 'schema-missing', /^PostgreSQL, claim: .*\. Run: millrace migrate/],
])('%s is told with what to do', (state, code, message) => {
  const error = fromDriver(Object.assign(new Error('as the server says'), { code: state }), 'claim');
  expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
});
