import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { FingerprintHash } from '../../../src/kernel/brand.ts';
import { openStore } from '../../../src/state/feed/open-store.ts';
import { bearer, fingerprintOf } from '../../support/manage.ts';
import { CALM, decide, gatehouse, newCustomer } from '../../support/requests.ts';
import { decided } from '../../support/reviews.ts';
import { startServer } from '../../support/server.ts';

const DAY = 86_400;

/** A token as the collector creates it, for this fingerprint. */
function collectorToken(fingerprint: string, iat: number): string {
  const token = { v: 1, fp: fingerprint, sid: randomUUID(), iat, sig: {} };
  return `st1.${Buffer.from(JSON.stringify(token)).toString('base64url')}`;
}

/** Returns the hash of a fingerprint itself, or of a token that is not the collector's. */
function hashOf(token: string): string {
  return /^[0-9a-f]{64}$/.test(token) ? token : fingerprintOf(token);
}

/** The customers of one server, and what an unrelated customer sees of their actions. */
async function openScene(env: Record<string, string> = {}) {
  const server = await startServer({ env });
  const keys: { readonly secretKey: string; readonly publicKey: string }[] = [];
  for (let i = 0; i < 4; i++) keys.push(await newCustomer(server.url, server.dataDir));
  const key = (customer: number): string => keys[customer]?.secretKey ?? '';
  let simulatedSeconds: number | null = null;
  const nowSeconds = (): number => simulatedSeconds ?? Math.floor(Date.now() / 1000);

  /** Lets the customer see the fingerprint in its own traffic. */
  async function visit(customer: number, token: string): Promise<void> {
    const isFingerprint = hashOf(token) === token;
    const body = { ...CALM, session_token: isFingerprint ? collectorToken(token, nowSeconds() - 60) : token };
    const answer = await decide(server.url, key(customer), body, { timestampSeconds: nowSeconds() });
    expect(answer.status).toBe(200);
  }

  async function block(customer: number, token: string, action = 'block'): Promise<void> {
    await visit(customer, token);
    await put(customer, token, action);
  }

  async function put(customer: number, token: string, action = 'block'): Promise<void> {
    const entry = { fingerprint_hash: hashOf(token), action };
    const { status } = await bearer(server.url, key(customer), 'POST', '/v1/lists', entry);
    expect([200, 201]).toContain(status);
  }

  async function unblock(customer: number, token: string): Promise<void> {
    const answer = await bearer(server.url, key(customer), 'DELETE', `/v1/lists/${hashOf(token)}`);
    expect(answer.status).toBe(204);
  }

  async function label(customer: number, token: string, label: string, decider = key(customer)): Promise<void> {
    const body = { request_id: await decided(server.url, decider, token), label };
    expect((await bearer(server.url, key(customer), 'POST', '/v1/labels', body)).status).toBe(201);
  }

  /** Returns the registry's entry; null if there is none. */
  async function seen(token: string): Promise<unknown> {
    const [found] = await seenOf([token]);
    return found;
  }

  async function seenOf(tokens: readonly string[]): Promise<unknown[]> {
    // Opened each time: the command line opens the same files in this process, and closes them.
    const opened = openStore({ dataDir: server.dataDir, readOnly: true });
    if (opened.kind === 'fault') throw new Error(opened.detail);
    const { registry } = opened.store;
    const found = tokens.map((token) => registry.find(hashOf(token) as FingerprintHash, nowSeconds()));
    await opened.store.close();
    return found.map((one) => one && { risk_score: Math.round(one.risk), customers_seen: one.customers });
  }

  /** Returns `shared_registry` as the unrelated demo customer sees it; null if there is none. */
  async function shown(token: string): Promise<unknown> {
    const entry = { fingerprint_hash: hashOf(token), action: 'watch' };
    const answer = await bearer(server.url, server.secretKey, 'POST', '/v1/lists', entry);
    return answer.json['shared_registry'] ?? null;
  }

  /** Waits until writes that follow the responses are visible. */
  async function expectSeen(token: string, wanted: unknown): Promise<void> {
    await vi.waitFor(async () => expect(await seen(token)).toEqual(wanted), { timeout: 20_000, interval: 50 });
  }

  /** Advances the virtual clock to this second. */
  async function goOnTo(timestampSeconds: number): Promise<void> {
    simulatedSeconds = timestampSeconds;
    const answer = await decide(server.url, server.secretKey, CALM, { timestampSeconds });
    expect(answer.status).toBe(200);
  }

  return { server, keys, key, visit, block, put, unblock, label, seen, seenOf, shown, expectSeen, goOnTo, nowSeconds };
}

type Scene = Awaited<ReturnType<typeof openScene>>;

describe('registry consensus from lists and labels', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene();
  });
  afterAll(() => scene.server.stop());

  test('two blocking customers promote nothing and the third does, and removal from a list keeps the registry entry', async () => {
    const token = randomUUID();
    await scene.block(0, token);
    await scene.block(0, token);
    await scene.block(1, token);
    await scene.block(2, token, 'watch');
    await scene.block(3, token, 'allow');
    expect(await scene.seen(token)).toBeNull();
    await scene.block(2, token);
    await scene.expectSeen(token, { risk_score: 90, customers_seen: 3 });
    const answer = await decide(scene.server.url, scene.server.secretKey, { ...CALM, session_token: token });
    expect(answer.json['reasons']).toContain('registry_known_bad');
    await scene.block(3, token);
    await scene.expectSeen(token, { risk_score: 90, customers_seen: 4 });
    for (const customer of [0, 1, 2]) await scene.unblock(customer, token);
    await scene.block(3, token, 'watch');
    expect(await scene.seen(token)).toEqual({ risk_score: 90, customers_seen: 4 });
  });

  test('fraud labels count like blocks, and a later legitimate label takes one back', async () => {
    const token = randomUUID();
    await scene.label(0, token, 'fraud');
    await scene.label(0, token, 'fraud');
    await scene.label(1, token, 'fraud');
    expect(await scene.seen(token)).toBeNull();
    await scene.block(2, token);
    await scene.expectSeen(token, { risk_score: 90, customers_seen: 3 });
    await scene.label(1, token, 'legitimate');
    await scene.expectSeen(token, null);
  });

  test('labels of public-key decisions do not feed the registry', async () => {
    const token = randomUUID();
    for (const i of [0, 1, 2, 3]) await scene.label(i, token, 'fraud', scene.keys[i]?.publicKey);
    for (const i of [0, 1]) await scene.block(i, token);
    expect(await scene.seen(token)).toBeNull();
    await scene.block(2, token);
    await scene.expectSeen(token, { risk_score: 90, customers_seen: 3 });
  });

  test('removal by the operator also removes the reports, and an import next to them stays unchanged', async () => {
    const token = randomUUID();
    for (const i of [0, 1, 2]) await scene.block(i, token);
    await scene.expectSeen(token, { risk_score: 90, customers_seen: 3 });
    expect(await gatehouse(scene.server.dataDir, 'registry', 'show', hashOf(token))).toMatchObject({
      imported: null,
      promoted: { risk_score: 90, customers_seen: 3, customers_confirmed: 3 },
      customers_within_30_days: 3,
    });
    const removed = await gatehouse(scene.server.dataDir, 'registry', 'remove', hashOf(token));
    expect(removed).toMatchObject({ removed: true, sightings_removed: 3 });
    expect(await scene.seen(token)).toBeNull();
    await scene.block(3, token);
    expect(await scene.seen(token)).toBeNull();
  });
});

describe('registry consensus from decisions', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene();
  });
  afterAll(() => scene.server.stop());

  const hostile = { ...CALM, user_agent: CALM.user_agent.replace('Chrome/', 'HeadlessChrome/') };
  const probe = { ...hostile, url: 'https://shop.example/.env' };

  /** Decides and returns the result. */
  async function ask(key: string, body: object, fingerprint: string): Promise<readonly [unknown, boolean]> {
    const token = collectorToken(fingerprint, Math.floor(Date.now() / 1000) - 60);
    const { json } = await decide(scene.server.url, key, { ...body, session_token: token });
    return [json['decision'], (json['reasons'] as string[]).includes('registry_known_bad')];
  }

  /** Writes of other reports are complete once this one is visible. */
  async function settle(): Promise<void> {
    const token = randomUUID();
    for (const i of [0, 1, 2]) await scene.block(i, token);
    await scene.expectSeen(token, { risk_score: 90, customers_seen: 3 });
  }

  test('BLOCKs of three customers in one network promote only to suspicious, and those of a public key do not count', async () => {
    const fingerprint = hashOf(randomUUID());
    for (let round = 0; round < 3; round++) {
      for (const i of [0, 1]) expect(await ask(scene.key(i), probe, fingerprint)).toEqual(['BLOCK', false]);
      for (const { publicKey } of scene.keys) await ask(publicKey, probe, fingerprint);
    }
    await scene.block(3, fingerprint);
    await scene.expectSeen(fingerprint, { risk_score: 60, customers_seen: 3 });
  });

  test('three forged tokens at three shops leave an honest visitor unaffected everywhere', async () => {
    const fingerprint = randomBytes(32).toString('hex');
    for (const i of [0, 1, 2]) expect(await ask(scene.key(i), probe, fingerprint)).toEqual(['BLOCK', false]);
    await scene.expectSeen(fingerprint, { risk_score: 60, customers_seen: 3 });
    const token = collectorToken(fingerprint, Math.floor(Date.now() / 1000) - 60);
    const body = { ...CALM, event_type: 'checkout', session_token: token };
    const { json } = await decide(scene.server.url, scene.server.secretKey, body);
    expect(json['reasons']).toContain('registry_suspicious');
    expect(json['decision']).toBe('ALLOW_WATCH');
  });

  test('decisions caused by the registry itself or by a list do not promote', async () => {
    const fingerprint = hashOf(randomUUID());
    for (const i of [0, 1, 2]) await scene.block(i, fingerprint);
    await scene.expectSeen(fingerprint, { risk_score: 90, customers_seen: 3 });
    expect((await ask(scene.key(0), CALM, fingerprint))[0]).toBe('BLOCK');
    expect(await ask(scene.key(3), hostile, fingerprint)).toEqual(['BLOCK', true]);
    // A report with its own evidence, from another customer, is written together with that one or after it.
    expect(await ask(scene.server.secretKey, probe, fingerprint)).toEqual(['BLOCK', true]);
    await scene.expectSeen(fingerprint, { risk_score: 90, customers_seen: 4 });
  });

  test('blocks of fingerprints that nobody has seen do not promote, however many there are', async () => {
    const hashes = Array.from({ length: 1_000 }, () => randomBytes(32).toString('hex'));
    const entries = hashes.map((fingerprint_hash) => ({ fingerprint_hash, action: 'block' }));
    for (const i of [0, 1, 2]) {
      expect((await bearer(scene.server.url, scene.key(i), 'POST', '/v1/lists/batch', { entries })).status).toBe(200);
    }
    await settle();
    expect((await scene.seenOf(hashes)).filter((found) => found !== null)).toEqual([]);
  });
});

describe('registry and time', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene({ GATEHOUSE_SIMULATED_TIME: '1' });
  });
  afterAll(() => scene.server.stop());

  test('the registry applies the window of 30 days and the half-life', async () => {
    const start = Math.floor(Date.now() / 1000) + 60;
    const [spread, token] = [randomUUID(), randomUUID()];
    await scene.goOnTo(start);
    await scene.block(0, spread);
    for (const i of [0, 1, 2]) await scene.block(i, token);
    await scene.expectSeen(token, { risk_score: 90, customers_seen: 3 });

    await scene.goOnTo(start + 10 * DAY);
    await scene.block(1, spread);
    await scene.goOnTo(start + 21 * DAY);
    await scene.expectSeen(token, { risk_score: 45, customers_seen: 3 });

    await scene.goOnTo(start + 31 * DAY);
    await scene.block(2, spread);
    expect(await scene.seen(spread)).toBeNull();
    await scene.block(3, spread);
    await scene.expectSeen(spread, { risk_score: 90, customers_seen: 3 });
  });

  test('customers see rounded numbers, a day late', async () => {
    const token = randomUUID();
    const start = scene.nowSeconds();
    for (const i of [0, 1, 2, 3]) await scene.block(i, token);
    await scene.expectSeen(token, { risk_score: 90, customers_seen: 4 });
    expect(await scene.shown(token)).toBeNull();
    await scene.goOnTo(start + DAY);
    expect(await scene.shown(token)).toEqual({ risk_score: 90, customers_seen: 3 });
  });

  test('BLOCKs from three networks on two days count fully, but not one by a first forged token of a known visitor', async () => {
    const [bot, known] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
    const start = scene.nowSeconds();
    const probe = { ...CALM, user_agent: 'curl/8.5.0', url: 'https://shop.example/.env' };
    for (const day of [0, 1, 2]) {
      await scene.goOnTo(start + day * DAY + 1);
      for (const i of [0, 1, 2]) await scene.visit(i, known);
      for (const network of [1, 2, 3]) {
        for (const i of [0, 1, 2]) {
          const session_token = collectorToken(bot, scene.nowSeconds() - 60);
          const body = { ...probe, ip: `82.9.${network}.7`, session_token };
          const { json } = await decide(scene.server.url, scene.key(i), body, { timestampSeconds: scene.nowSeconds() });
          expect(json['decision']).toBe('BLOCK');
        }
        // One network per round of writes.
        await new Promise((done) => setTimeout(done, 400));
      }
    }
    await scene.expectSeen(bot, { risk_score: 90, customers_seen: 3 });
    for (const i of [0, 1, 2]) {
      const body = { ...probe, session_token: collectorToken(known, scene.nowSeconds() - 60) };
      const { json } = await decide(scene.server.url, scene.key(i), body, { timestampSeconds: scene.nowSeconds() });
      expect(json['decision']).toBe('BLOCK');
    }
    await new Promise((done) => setTimeout(done, 600));
    expect(await scene.seen(known)).toBeNull();
  });
});
