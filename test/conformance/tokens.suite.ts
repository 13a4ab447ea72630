import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { uuidv7 } from '../../src/internal/uuid.js';
import { type NewAccessToken, tokenRoles } from '../../src/storage/access-token.js';
import type { AuditEntry, NewAuditEntry } from '../../src/storage/audit.js';
import { expectAbout, HOUR, MINUTE, type Stage } from './stage.js';

/** Access tokens, and the audit that is written with each deed about them. */
export function tokensSuite(stage: Stage): void {
  const newToken = (with_: Partial<NewAccessToken> = {}): NewAccessToken => ({
    ...{ id: randomBytes(6).toString('hex'), secretHash: randomBytes(32).toString('hex') },
    ...{ role: 'worker', name: 'w1', validForMs: null },
    ...with_,
  });
  const entry = (target: string): NewAuditEntry => ({
    ...{ id: uuidv7(), actor: 'ada', action: 'token.change', target, source: 'test' },
  });
  const audited = async (target: string): Promise<AuditEntry[]> =>
    (await stage.storage.audit({ limit: 1_000 })).filter((each) => each.target === target);

  test.each([...tokenRoles])('a token of the role %s is kept as it was made', async (role) => {
    const { validForMs, ...mine } = newToken({ role, name: 'Zoë’s laptop 😀', validForMs: HOUR });
    const now = await stage.storage.now();
    expect(await stage.storage.createToken({ ...mine, validForMs }, entry(mine.id))).toBe('done');
    const kept = await stage.storage.token(mine.id);
    expect(kept).toMatchObject({ ...mine, revokedAtMs: null, isValid: true });
    expectAbout(kept?.createdAtMs, now);
    expect(kept?.expiresAtMs).toBe((kept?.createdAtMs ?? 0) + HOUR);
    expect(kept).not.toHaveProperty('validForMs');
  });

  test('an unknown token is null', async () => {
    expect(await stage.storage.token('nobody')).toBeNull();
  });

  test('a token that is created twice stands once, as it was first made', async () => {
    const mine = newToken();
    expect(await stage.storage.createToken(mine, entry(mine.id))).toBe('done');
    const first = await stage.storage.token(mine.id);
    stage.advance(MINUTE);
    expect(await stage.storage.createToken({ ...mine, name: 'other' }, entry(mine.id))).toBe('done');
    expect(await stage.storage.token(mine.id)).toEqual(first);
  });

  test('an id that another secret has is refused', async () => {
    const mine = newToken();
    await stage.storage.createToken(mine, entry(mine.id));
    const other = newToken({ id: mine.id, role: 'admin' });
    expect(await stage.storage.createToken(other, entry(mine.id))).toBe('duplicate');
    expect(await stage.storage.token(mine.id)).toMatchObject({ secretHash: mine.secretHash, role: 'worker' });
    expect((await audited(mine.id)).map(({ result }) => result).sort()).toEqual(['done', 'duplicate']);
  });

  test('of two secrets for one id at once one gets it', async () => {
    await using other = await stage.another();
    const [one, two] = [newToken(), newToken()];
    const outcomes = await Promise.all([
      stage.storage.createToken(one, entry(one.id)),
      other.storage.createToken({ ...two, id: one.id }, entry(one.id)),
    ]);
    expect([...outcomes].sort()).toEqual(['done', 'duplicate']);
    const winner = outcomes[0] === 'done' ? one : two;
    expect(await stage.storage.token(one.id)).toMatchObject({ secretHash: winner.secretHash });
  });

  test('a revoked token is valid no more, and is still shown', async () => {
    const mine = newToken();
    await stage.storage.createToken(mine, entry(mine.id));
    expect(await stage.storage.revokeToken(mine.id, entry(mine.id))).toBe('done');
    const revoked = await stage.storage.token(mine.id);
    expect(revoked).toMatchObject({ isValid: false });
    expectAbout(revoked?.revokedAtMs, await stage.storage.now());
    stage.advance(MINUTE);
    expect(await stage.storage.revokeToken(mine.id, entry(mine.id))).toBe('already-revoked');
    expect(await stage.storage.token(mine.id)).toEqual(revoked);
    expect(await stage.storage.revokeToken('nobody', entry('nobody'))).toBe('not-found');
  });

  test('a revoked token is not made valid by being created again', async () => {
    const mine = newToken();
    await stage.storage.createToken(mine, entry(mine.id));
    await stage.storage.revokeToken(mine.id, entry(mine.id));
    expect(await stage.storage.createToken(mine, entry(mine.id))).toBe('done');
    expect(await stage.storage.token(mine.id)).toMatchObject({ isValid: false });
  });

  test('a token is valid until its time has passed', async () => {
    const mine = newToken({ validForMs: HOUR });
    await stage.storage.createToken(mine, entry(mine.id));
    stage.advance(HOUR - MINUTE);
    expect(await stage.storage.token(mine.id)).toMatchObject({ isValid: true, revokedAtMs: null });
    stage.advance(2 * MINUTE);
    expect(await stage.storage.token(mine.id)).toMatchObject({ isValid: false, revokedAtMs: null });
  });

  test('tokens are listed from the newest on, those included that hold no more', async () => {
    const made = [newToken(), newToken({ validForMs: MINUTE }), newToken()];
    for (const each of made) {
      await stage.storage.createToken(each, entry(each.id));
      stage.advance(2 * MINUTE);
    }
    await stage.storage.revokeToken(made[0]?.id ?? '', entry('list'));
    const ids = made.map(({ id }) => id);
    const listed = (await stage.storage.tokens()).filter(({ id }) => ids.includes(id));
    expect(listed.map(({ id }) => id)).toEqual([...ids].reverse());
    expect(listed.map(({ isValid }) => isValid)).toEqual([true, false, false]);
  });

  test('every deed about a token is written with what came of it, once', async () => {
    const mine = newToken();
    const [made, revoked] = [entry(mine.id), entry(mine.id)];
    await stage.storage.createToken(mine, made);
    await stage.storage.createToken(mine, made);
    await stage.storage.revokeToken(mine.id, revoked);
    const written = await audited(mine.id);
    expect(written).toHaveLength(2);
    expect(written).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ ...made, result: 'done' }),
        expect.objectContaining({ ...revoked, result: 'done' }),
      ]),
    );
  });

  test('a deed whose audit can not be written is not done', async () => {
    const mine = newToken();
    // An id that no audit can have: every engine that checks it refuses the transaction as a whole.
    const bad = { ...entry(mine.id), id: 'not-a-uuid' };
    const failed = await stage.storage.createToken(mine, bad).then(
      () => false,
      () => true,
    );
    expect((await stage.storage.token(mine.id)) === null).toBe(failed);
    expect((await audited(mine.id)).length).toBe(failed ? 0 : 1);
  });

  test('a deed that needs no row of its own is written once, with its result', async () => {
    const mine = entry(stage.queue());
    await stage.storage.noteAudit(mine, 'done');
    await stage.storage.noteAudit(mine, 'again');
    const written = await audited(mine.target);
    expect(written).toHaveLength(1);
    expect(written[0]).toMatchObject({ ...mine, result: 'done' });
    expectAbout(written[0]?.atMs, await stage.storage.now());
  });
}
