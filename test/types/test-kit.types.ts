/** Checked by the compiler alone: an error that is expected and doesn't come is an error. */
import { z } from 'zod';
import { defineJob, type JobContext } from '../../src/index.js';
import { createTestKit } from '../../src/testing/index.js';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const expectType = <Expected>() => ({
  of: <Got>(_value: Got, _isEqual: Equal<Got, Expected>): void => undefined,
});

const mail = defineJob('mail', {
  input: z.object({ to: z.string(), lines: z.array(z.object({ sku: z.string(), count: z.number() })) }),
  run: () => 1,
});
const greet = defineJob('greet', { run: ({ input }: JobContext<{ name: string; at: Date }>) => input.name });

export async function typed(): Promise<void> {
  await using kit = await createTestKit({ jobs: [mail, greet], concurrency: 3 });
  await kit.millrace.dispatch('mail', { to: 'a', lines: [] });
  // @ts-expect-error The client of a kit is as strict as any.
  await kit.millrace.dispatch('mail', { to: 1 });

  // By definition and by name, with the types that JSON gives back.
  expectType<string>().of(kit.expectDispatched(mail).input.to, true);
  expectType<string>().of(kit.expectDispatched('greet').input.at, true);
  kit.dispatched(mail, { lines: [{ sku: 'x' }] });
  kit.dispatched('mail', ({ input, queue }) => input.to === queue);
  kit.expectNotDispatched(greet, { name: 'Ada' });
  // @ts-expect-error No such property.
  kit.dispatched(mail, { from: 'a' });
  // @ts-expect-error Not of this type.
  kit.expectDispatched('greet', { name: 1 });
  // @ts-expect-error Only what there is.
  kit.failNext('settle');
  // @ts-expect-error Only what there is.
  kit.failStorage('setle', 'before');
  // @ts-expect-error A typo in a setting.
  await createTestKit({ jobs: [mail], concurency: 3 });
}

export async function open(): Promise<void> {
  // Without jobs: any name, any input.
  await using kit = await createTestKit();
  await kit.millrace.dispatch('anything', { a: 1 });
  expectType<unknown>().of(kit.expectDispatched('anything', { a: 1, list: [{ b: null }] }).input, true);
  kit.dispatched('anything', (dispatch) => dispatch.priority > 0);
}
