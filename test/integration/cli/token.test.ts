import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { CreatedToken, TokenListing } from '../../../src/client/access-tokens.js';
import { parseToken } from '../../../src/internal/token-text.js';
import { project } from './project.js';

/** Each command is a process of its own. */
const timeout = 90_000;

describe('millrace token [sqlite]', { timeout }, () => {
  test('shows a token once, keeps its hash alone, lists and revokes it, and writes who did so', async () => {
    await using made = await project();
    await made.client().open();
    const created = await made.run([
      'token',
      'create',
      '--role',
      'worker',
      '--name',
      'w1',
      '--expires',
      '30d',
    ]);
    expect(created.stderr).toContain('only time');
    const text = created.stdout.trim();
    const parts = parseToken(text);
    expect(created.code).toBe(0);
    expect(parts).not.toBeNull();
    const { id = '', secret = '' } = parts ?? {};
    expect(created.stderr).not.toContain(secret);

    const client = made.client();
    const [listed, settings] = await Promise.all([
      made.run(['token', 'list']),
      made.run(['settings', '--json'], { env: { WORKER_SECRET: text } }),
    ]);
    expect(listed.stdout).toMatch(new RegExp(`${id} +w1 +worker +valid`));
    const [{ createdAt, expiresAt, ...rest } = fail()] = await client.tokens();
    expect(rest).toEqual({ id, name: 'w1', role: 'worker', isValid: true, revokedAt: null });
    expect(Number(expiresAt) - Number(createdAt)).toBe(30 * 86_400_000);

    const revoked = await made.run(['token', 'revoke', id]);
    expect(revoked.stdout).toBe(`token ${id} is revoked\n`);
    expect(await client.revokeToken(id)).toBe('already-revoked');
    const again = await made.run(['token', 'list', '--json']);
    expect(again.json<{ tokens: TokenListing[] }>().tokens).toMatchObject([{ id, isValid: false }]);

    const { entries } = await client.audit();
    const deeds = entries.map(({ action, target, source, result }) => [action, target, source, result]);
    expect(deeds).toEqual([
      ['token.revoke', id, 'library', 'already-revoked'],
      ['token.revoke', id, 'cli', 'done'],
      ['token.create', id, 'cli', 'done'],
    ]);
    const kept = await Promise.all(
      ['data/test.db', 'data/test.db-wal'].map((file) =>
        readFile(made.file(file)).catch(() => Buffer.alloc(0)),
      ),
    );
    const told = [listed, settings, revoked, again].map(({ stdout, stderr }) => stdout + stderr);
    for (const place of [...told, JSON.stringify(entries), Buffer.concat(kept).toString('latin1')])
      expect(place).not.toContain(secret);
  });

  test('answers in JSON with what was made', async () => {
    await using made = await project();
    await made.client().open();
    const answer = (
      await made.run(['token', 'create', '--role', 'read', '--name', 'g', '--json'])
    ).json<CreatedToken>();
    expect(answer).toMatchObject({ name: 'g', role: 'read' });
    expect(parseToken(answer.token)?.id).toBe(answer.id);
    expect(
      (await made.run(['token', 'list', '--json'])).json<{ tokens: TokenListing[] }>().tokens,
    ).toMatchObject([{ id: answer.id, expiresAt: null }]);
  });

  test('refuses what is no role, name, time or id, all at once, and an id of nobody', async () => {
    await using made = await project();
    await made.client().open();
    const wrong = await made.run([
      'token',
      'create',
      '--role',
      'root',
      '--name',
      'a\u0007',
      '--expires',
      'soon',
    ]);
    expect(wrong.code).toBe(2);
    for (const part of ['"role"', '"name"', '"expires"']) expect(wrong.stderr).toContain(part);
    const unknown = await made.run(['token', 'revoke', 'abcdefghijkl']);
    expect(unknown.stderr).toContain('token-not-found');
    expect(unknown.code).toBe(1);
  });
});

function fail(): never {
  throw new Error('there is no token');
}
