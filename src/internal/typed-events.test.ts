import { describe, expect, it, vi } from 'vitest';
import { TypedEvents } from './typed-events.js';

interface Events {
  done: { id: string };
  idle: undefined;
}

function create(): { events: TypedEvents<Events>; onError: ReturnType<typeof vi.fn> } {
  const onError = vi.fn();
  return { events: new TypedEvents<Events>({ onError }), onError };
}

describe('TypedEvents', () => {
  it('calls listeners in the order they were added', () => {
    const { events } = create();
    const calls: string[] = [];
    events.on('done', ({ id }) => calls.push(`first ${id}`));
    events.on('done', ({ id }) => calls.push(`second ${id}`));
    events.emit('done', { id: 'a' });
    expect(calls).toEqual(['first a', 'second a']);
  });

  it('goes on when a listener throws or rejects, and reports both', async () => {
    const { events, onError } = create();
    const thrown = new Error('thrown');
    const rejected = new Error('rejected');
    const last = vi.fn();
    events.on('idle', () => {
      throw thrown;
    });
    events.on('idle', () => Promise.reject(rejected));
    events.on('idle', last);
    events.emit('idle', undefined);
    await Promise.resolve();
    await Promise.resolve();
    expect(last).toHaveBeenCalledOnce();
    expect(onError.mock.calls).toEqual([
      [thrown, 'idle'],
      [rejected, 'idle'],
    ]);
  });

  it('survives an error handler that throws', () => {
    const events = new TypedEvents<Events>({
      onError: () => {
        throw new Error('again');
      },
    });
    events.on('idle', () => {
      throw new Error('first');
    });
    expect(() => events.emit('idle', undefined)).not.toThrow();
  });

  it('calls a once listener once, and removes exactly the addition asked for', () => {
    const { events } = create();
    const once = vi.fn();
    const twice = vi.fn();
    events.once('idle', once);
    const remove = events.on('idle', twice);
    events.on('idle', twice);
    expect(events.listenerCount('idle')).toBe(3);
    events.emit('idle', undefined);
    remove();
    remove();
    events.emit('idle', undefined);
    expect(once).toHaveBeenCalledOnce();
    expect(twice).toHaveBeenCalledTimes(3);
    expect(events.listenerCount('idle')).toBe(1);
    events.clear();
    expect(events.listenerCount('idle')).toBe(0);
  });

  it('shows an emit only to the listeners it found', () => {
    const { events } = create();
    const late = vi.fn();
    events.on('idle', () => events.on('idle', late));
    events.emit('idle', undefined);
    expect(late).not.toHaveBeenCalled();
  });
});
