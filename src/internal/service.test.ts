import { describe, expect, it } from 'vitest';
import { Service } from './service.js';

class Recorded extends Service {
  readonly calls: string[] = [];
  running = 0;
  startFault: Error | undefined;
  stopFault: Error | undefined;
  startGate: Promise<void> = Promise.resolve();
  stopGate: Promise<void> = Promise.resolve();

  constructor() {
    super('recorded');
  }

  progress(): void {
    this.markProgress();
  }

  protected override async doStart(signal: AbortSignal): Promise<void> {
    this.calls.push('start');
    this.running += 1;
    expect(this.running).toBe(1);
    await Promise.race([
      this.startGate,
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('given up')))),
    ]);
    if (this.startFault !== undefined) throw this.startFault;
  }

  protected override async doStop({ deadlineMs }: { deadlineMs: number }): Promise<void> {
    this.calls.push(`stop ${deadlineMs}`);
    await this.stopGate;
    this.running -= 1;
    if (this.stopFault !== undefined) throw this.stopFault;
  }

  protected override hastenStop({ deadlineMs }: { deadlineMs: number }): void {
    this.calls.push(`hasten ${deadlineMs}`);
  }
}

function gate(): { promise: Promise<void>; open: () => void } {
  let open: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

describe('Service', () => {
  it('starts once and stops once, however often it is asked', async () => {
    const service = new Recorded();
    await Promise.all([service.start(), service.start()]);
    await service.start();
    expect(service.state).toBe('running');
    await Promise.all([service.stop({ deadlineMs: 5 }), service.stop({ deadlineMs: 5 })]);
    await service.stop();
    expect(service.state).toBe('stopped');
    expect(service.calls.filter((call) => !call.startsWith('hasten'))).toEqual(['start', 'stop 5']);
  });

  it('does nothing when it is stopped before it was started', async () => {
    const service = new Recorded();
    await service.stop();
    expect(service.calls).toEqual([]);
  });

  it('tells a start to give up when it is stopped, waits for it and releases what it took', async () => {
    const service = new Recorded();
    service.startGate = new Promise(() => undefined);
    const starting = expect(service.start()).rejects.toThrow('given up');
    await Promise.resolve();
    await service.stop();
    await starting;
    expect(service.running).toBe(0);
    expect(service.state).toBe('stopped');
  });

  it('starts again after a stop that is still going on', async () => {
    const service = new Recorded();
    await service.start();
    const { promise, open } = gate();
    service.stopGate = promise;
    const stopped = service.stop({ deadlineMs: 1 });
    const restarted = service.start();
    await Promise.resolve();
    expect(service.state).toBe('stopping');
    open();
    await stopped;
    await restarted;
    expect(service.state).toBe('running');
    expect(service.calls).toEqual(['start', 'stop 1', 'start']);
  });

  it('hastens a stop that is going on', async () => {
    const service = new Recorded();
    await service.start();
    const { promise, open } = gate();
    service.stopGate = promise;
    const first = service.stop({ deadlineMs: 25_000 });
    await Promise.resolve();
    const second = service.stop({ deadlineMs: 0 });
    expect(service.calls).toContain('hasten 0');
    open();
    await Promise.all([first, second]);
  });

  it('can be started again after a start that failed', async () => {
    const service = new Recorded();
    service.startFault = new Error('port taken');
    await expect(service.start()).rejects.toThrow('port taken');
    expect(service.state).toBe('stopped');
    expect(service.running).toBe(0);
    service.startFault = undefined;
    await service.start();
    expect(service.state).toBe('running');
  });

  it('is stopped after a stop that failed, and says so once', async () => {
    const service = new Recorded();
    await service.start();
    service.stopFault = new Error('stuck');
    await expect(service.stop()).rejects.toThrow('stuck');
    expect(service.state).toBe('stopped');
    await expect(service.stop()).resolves.toBeUndefined();
  });

  it('stops at the end of its scope', async () => {
    const service = new Recorded();
    {
      await using scoped = service;
      await scoped.start();
    }
    expect(service.state).toBe('stopped');
  });

  it('tells when something last got done', async () => {
    const service = new Recorded();
    const before = performance.now();
    service.progress();
    expect(service.lastProgressAt).toBeGreaterThanOrEqual(before);
  });

  it('is in order after 500 starts and stops in any order', async () => {
    const service = new Recorded();
    const calls: Promise<void>[] = [];
    for (let index = 0; index < 500; index += 1) {
      calls.push((index * 7919) % 3 === 0 ? service.stop() : service.start());
      if (index % 11 === 0) await Promise.resolve();
    }
    await Promise.allSettled(calls);
    await service.stop();
    expect(service.running).toBe(0);
    expect(service.state).toBe('stopped');
  });
});
