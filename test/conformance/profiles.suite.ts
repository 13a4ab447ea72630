import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, type Stage } from './stage.js';

export function profilesSuite(stage: Stage): void {
  const note = (name: string, count: number, totalMs: number, maxRssBytes: number | null = null) => ({
    name,
    count,
    totalMs,
    maxRssBytes,
  });

  test('a profile sums up what was noted', async () => {
    const [one, two] = [stage.queue(), stage.queue()];
    await stage.storage.noteProfiles([note(one, 1, 100), note(two, 2, 50, 1_000), note(one, 3, 500)]);
    await stage.storage.noteProfiles([note(two, 2, 150, 5_000_000_000)]);
    await stage.storage.noteProfiles([note(two, 1, 50)]);
    expect(await stage.storage.profiles([two, stage.queue(), one], HOUR)).toEqual([
      { name: two, count: 5, averageMs: 50, peakRssBytes: 5_000_000_000 },
      { name: one, count: 4, averageMs: 150, peakRssBytes: null },
    ]);
  });

  test('nothing noted is nothing known', async () => {
    await stage.storage.noteProfiles([]);
    expect(await stage.storage.profiles([stage.queue()], HOUR)).toEqual([]);
    expect(await stage.storage.profiles([], HOUR)).toEqual([]);
  });

  test('a profile is of its window', async () => {
    const name = stage.queue();
    await stage.storage.noteProfiles([note(name, 1, 1_000, 9)]);
    stage.advance(30 * MINUTE);
    await stage.storage.noteProfiles([note(name, 1, 10)]);
    const averages = async (windowMs: number) =>
      (await stage.storage.profiles([name], windowMs)).map(({ averageMs, peakRssBytes }) => [
        averageMs,
        peakRssBytes,
      ]);
    expect(await averages(HOUR)).toEqual([[505, 9]]);
    expect(await averages(20 * MINUTE)).toEqual([[10, null]]);
    stage.advance(2 * HOUR);
    expect(await averages(HOUR)).toEqual([]);
  });

  test('old ones are purged', async () => {
    const name = stage.queue();
    await stage.storage.noteProfiles([note(name, 1, 10)]);
    stage.advance(DAY + 2 * MINUTE);
    await stage.storage.purgeTraces({ olderThanMs: 100 * DAY, limit: 1_000 });
    expect(await stage.storage.profiles([name], 3 * DAY)).toEqual([]);
  });

  test('tidying changes nothing that is known', async () => {
    const name = stage.queue();
    for (let index = 0; index < 5; index += 1) await stage.storage.noteProfiles([note(name, 2, 20, index)]);
    await stage.storage.tidy({ settled: 0, idle: true });
    expect(await stage.storage.profiles([name], HOUR)).toEqual([
      { name, count: 10, averageMs: 10, peakRssBytes: 4 },
    ]);
  });
}
