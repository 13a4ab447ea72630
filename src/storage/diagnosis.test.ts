import { expect, test } from 'vitest';
import { connectionsDiagnosis, durabilityDiagnosis, transactionDiagnosis } from './diagnosis.js';

test('a transaction is long after a minute, and is told with who holds it', () => {
  expect(transactionDiagnosis(null, '').status).toBe('ok');
  expect(transactionDiagnosis(59_999, 'pid 7').status).toBe('ok');
  expect(transactionDiagnosis(60_000, 'pid 7')).toMatchObject({
    status: 'warn',
    message: 'one is open for 60 s (pid 7)',
  });
});

test('connections are told before there are none left', () => {
  expect(connectionsDiagnosis(79, 100).status).toBe('ok');
  expect(connectionsDiagnosis(80, 100).status).toBe('warn');
});

test('what answers before data is safe is told in its own words', () => {
  expect(durabilityDiagnosis([]).status).toBe('ok');
  expect(durabilityDiagnosis(['fsync is off']).message).toContain('fsync is off');
});
