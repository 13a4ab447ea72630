import { describe, expect, it } from 'vitest';
import { SessionCommands } from './session-commands.js';

const commands = (most: { mostKeys?: number; mostAnswers?: number } = {}): SessionCommands<string> =>
  new SessionCommands({ mostKeys: 100, mostAnswers: 10, ...most });

describe('commands of a session', () => {
  it('run once, and a repeat gets the answer of the first', () => {
    const known = commands();
    expect(known.admit('a', 'click #buy')).toEqual({ kind: 'run' });
    expect(known.admit('a', 'click #buy')).toEqual({ kind: 'running' });
    known.answered('a', 'done');
    expect(known.admit('a', 'click #buy')).toEqual({ kind: 'answered', answer: 'done' });
  });

  it('are told apart from another command under the same key, running or answered', () => {
    const known = commands();
    known.admit('a', 'click #buy');
    expect(known.admit('a', 'click #sell')).toEqual({ kind: 'conflict' });
    known.answered('a', 'done');
    expect(known.admit('a', 'click #sell')).toEqual({ kind: 'conflict' });
  });

  it('do not run again when their answer was dropped', () => {
    const known = commands({ mostAnswers: 1 });
    for (const key of ['a', 'b']) {
      known.admit(key, 'click');
      known.answered(key, `done ${key}`);
    }
    expect(known.admit('a', 'click')).toEqual({ kind: 'answer-gone' });
    expect(known.admit('b', 'click')).toEqual({ kind: 'answered', answer: 'done b' });
  });

  it('are refused when no more keys can be kept, while known ones go on', () => {
    const known = commands({ mostKeys: 1 });
    known.admit('a', 'click');
    expect(known.admit('b', 'click')).toEqual({ kind: 'full' });
    known.answered('a', 'done');
    expect(known.admit('a', 'click')).toEqual({ kind: 'answered', answer: 'done' });
    expect(known.admit('b', 'click')).toEqual({ kind: 'full' });
  });

  it('keep their first answer', () => {
    const known = commands();
    known.admit('a', 'click');
    known.answered('a', 'done');
    known.answered('a', 'late');
    known.answered('never sent', 'stray');
    expect(known.admit('a', 'click')).toEqual({ kind: 'answered', answer: 'done' });
    expect(known.admit('never sent', 'click')).toEqual({ kind: 'run' });
  });
});
