import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FILE_FORMATS } from '../../src/kernel/formats.ts';
import {
  clockAt,
  unpackFixture,
  unpackUnversioned,
  type DataFacts,
  type FixtureVersion,
  type ShiftedClock,
} from '../support/data-fixture.ts';
import { contentOf, environmentVersions, setVersion, VERSIONED } from '../support/format-versions.ts';
import { bearer } from '../support/manage.ts';
import { decide, gatehouse, type Answer } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';

/** Data directories of the build before formats had versions and of format version 2, and data of a newer build. */

const READS: Readonly<Record<string, number>> = { journal: 1, velocity: 4, directory: 4, state: 3, hot: 3 };

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-upgrade-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A sign-up from the address of the fixture, whose fourth within a day makes a rule fire. */
function signupOf(facts: DataFacts): Record<string, unknown> {
  const first = JSON.parse(facts.accepted.body) as Record<string, unknown>;
  return { ...first, session_token: 'session-after-the-upgrade', entity_keys: { email: 'person-5@mail.example' } };
}

describe.each<FixtureVersion>([1, 2])('a directory of format version %i', (version) => {
  let facts: DataFacts;
  let clock: ShiftedClock;
  let server: RunningServer;
  let dataDir: string;
  beforeAll(async () => {
    dataDir = join(folder, `data-${version}`);
    facts = version === 1 ? unpackFixture(1, 'data', dataDir) : unpackFixture(2, 'data', dataDir);
    clock = clockAt(facts.stoppedAtMs + 1_000);
    server = await startServer({ dataDir, env: clock.env });
  });
  afterAll(() => server.stop());

  const send = (body: unknown, key = facts.secretKey): Promise<Answer> =>
    decide(server.url, key, body, { timestampSeconds: clock.nowSeconds() });
  const ask = async (path: string): Promise<Record<string, unknown>> => {
    const answer = await bearer(server.url, facts.secretKey, 'GET', path);
    if (answer.status !== 200) throw new Error(`${path} returned ${answer.status}: ${answer.text}`);
    return answer.json;
  };

  test('It is migrated by the start if it is older than this build, without a repair', () => {
    const isOlder = version < FILE_FORMATS.directory.version;
    expect(server.stdout().includes('"code":"migrated"')).toBe(isOlder);
    expect(server.stdout()).not.toMatch(/damaged|quarantined|begun_anew|first_start|truncated/);
  });

  test('After the migration velocity counts continue: the fourth sign-up of the address fires the rule', async () => {
    expect((await send(signupOf(facts))).json['reasons']).toContain('velocity_ip_signups_24h');
  });

  test('After the migration live keys are accepted, and revoked ones are not', async () => {
    expect((await send({ ...signupOf(facts), event_type: 'search' })).status).toBe(200);
    expect((await send(signupOf(facts), facts.revokedKey)).status).toBe(401);
  });

  test('After the migration a request id that the older build accepted is not accepted again', async () => {
    const { requestId, timestampSeconds, body } = facts.accepted;
    const answer = await decide(server.url, facts.secretKey, body, { requestId, timestampSeconds });
    expect(answer.json['code']).toBe('replayed_request');
  });

  test('After the migration the block list and the registry still match', async () => {
    const blocked = await send({ ...signupOf(facts), session_token: 'blocked-session', event_type: 'login' });
    expect(blocked.json).toMatchObject({
      decision: 'BLOCK',
      reasons: expect.arrayContaining(['list_block']) as unknown,
    });
    const entry = await gatehouse(dataDir, 'registry', 'show', facts.registered);
    expect(JSON.stringify(entry)).toContain(facts.registered);
  });

  test('After the migration earlier decisions, the webhook with its delivery, and the extraction with its records can be read', async () => {
    const decisions = (await ask('/v1/decisions'))['data'] as { readonly request_id: string }[];
    expect(decisions.map((row) => row.request_id)).toEqual(expect.arrayContaining([...facts.decisions]));
    const webhooks = (await ask('/v1/webhooks'))['data'] as { readonly id: string }[];
    expect(webhooks.map(({ id }) => id)).toContain(facts.webhook);
    const delivered = await ask('/v1/webhooks/deliveries?status=succeeded');
    expect(delivered['data']).toHaveLength(1);
    expect(await ask(`/v1/extractions/${facts.extraction}`)).toMatchObject({ status: 'succeeded' });
    const records = await bearer(server.url, facts.secretKey, 'GET', `/v1/extractions/${facts.extraction}/records`);
    expect(records.text).toMatch(/"Post 1"[^]*"Post 2"/);
  });
});

describe('a backup without versions', () => {
  test('A backup without versions is migrated when it is restored', async () => {
    const dataDir = join(folder, 'restored');
    const facts = unpackUnversioned('backup', dataDir);
    const key = join(folder, 'key');
    unpackUnversioned('data', key);
    cpSync(join(key, 'master.key'), join(dataDir, 'master.key'));
    const clock = clockAt(facts.stoppedAtMs + 1_000);
    const server = await startServer({ dataDir, env: clock.env });
    expect(server.stdout()).toMatch(/"code":"migrated"[^]*"code":"backup_restored"/);
    const timestampSeconds = clock.nowSeconds();
    const body = { ...signupOf(facts), session_token: 'blocked-session' };
    const answer = await decide(server.url, facts.secretKey, body, { timestampSeconds });
    expect(answer.json['decision']).toBe('BLOCK');
    await server.stop();
    expect(await environmentVersions(dataDir)).toEqual([3, 3, 2]);
  });
});

describe('data of a newer build', () => {
  test.each(VERSIONED)('A start on version 99 of %s exits with 78, explains it and changes nothing', async (what) => {
    const dataDir = join(folder, `newer-${what}`);
    const facts = unpackUnversioned('data', dataDir);
    const path = await setVersion(dataDir, what, 99);
    const before = contentOf(dataDir);
    const { env } = clockAt(facts.stoppedAtMs + 1_000);
    const failed = await startServer({ dataDir, env }).then(
      () => 'it started',
      (error: unknown) => String(error),
    );
    expect(failed).toContain('(exit code 78)');
    expect(failed).toContain(
      `${path} has format version 99, and this build reads versions up to ${READS[what] ?? 2}: ` +
        'a newer build of Gatehouse wrote it. Nothing was changed. Start the newer build again, or restore a backup',
    );
    expect(contentOf(dataDir)).toEqual(before);
  });
});
