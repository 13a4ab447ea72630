import { describe, expect, it } from 'vitest';
import { budgetsSetting, labelsSetting } from './bound-settings.js';

const budgets = budgetsSetting({ env: 'BUDGETS', meaning: '' });
const labels = labelsSetting({ env: 'LABELS', meaning: '' });

describe('budgets', () => {
  it('are read from a text and from an object, and written as they are read', () => {
    expect(budgets.parse('mail=20, reports = 5', true)).toEqual({ mail: 20, reports: 5 });
    expect(budgets.parse({ mail: 20 }, false)).toEqual({ mail: 20 });
    expect(budgets.parse('none', true)).toEqual({});
    expect(budgets.format(budgets.parse('mail=20,reports=5', true))).toBe('mail=20,reports=5');
    expect(budgets.format(budgets.default)).toBe('none');
  });

  it.each([
    'mail',
    'mail=',
    'mail=0',
    'mail=1.5',
    'mail=-1',
    'a b=3',
    'mail=3,mail=4',
    'mail=3=4',
    '',
    'mail=1,',
  ])('refuse %j', (text) => {
    expect(() => budgets.parse(text, true)).toThrow('expected none, or budgets');
  });

  it.each([[['mail=3']], [3], [null], [{ mail: '3' }], [{ mail: 0 }]])('refuse %j in a config', (value) => {
    expect(() => budgets.parse(value, false)).toThrow('expected none, or budgets');
  });
});

describe('labels of a worker', () => {
  it('are read from a text and from a list', () => {
    expect(labels.parse('gpu, eu', true)).toEqual(['eu', 'gpu']);
    expect(labels.parse(['gpu'], false)).toEqual(['gpu']);
    expect(labels.parse('none', true)).toEqual([]);
    expect(labels.format(labels.default)).toBe('none');
  });

  it.each(['', 'a b', 'gpu,', 7])('refuse %j', (value) => {
    expect(() => labels.parse(value, true)).toThrow('expected none, or labels');
  });
});
