import { randomBytes, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { CALM, decide, newCustomer } from '../../support/requests.ts';
import { type SharedServer, sharedServer } from '../../support/shared-server.ts';

const NETWORKS = 25;
/** Two networks share one hash in 1 of 32,767 cases. */
const NEARLY_ALL = expect.toSatisfy((n: number) => n > NETWORKS - 3 && n <= NETWORKS);

/** A token as the collector creates it, for one of many devices with the same fingerprint. */
function tokenOf(fingerprint: string): string {
  const token = { v: 1, fp: fingerprint, sid: randomUUID(), iat: Math.floor(Date.now() / 1000) - 60, sig: {} };
  return `st1.${Buffer.from(JSON.stringify(token)).toString('base64url')}`;
}

describe('a fingerprint that many networks share', () => {
  let server: SharedServer;
  const keys: string[] = [];
  beforeAll(async () => {
    server = await sharedServer();
    for (let i = 0; i < 3; i++) keys.push((await newCustomer(server.url, server.dataDir)).secretKey);
  });

  async function ask(key: string, fingerprint: string, network = 0): Promise<readonly string[]> {
    const body = { ...CALM, ip: `82.9.${network}.7`, session_token: tokenOf(fingerprint) };
    return (await decide(server.url, key, body)).json['reasons'] as string[];
  }

  async function list(key: string, fingerprint: string, action: string): Promise<Record<string, unknown>> {
    const entry = { fingerprint_hash: fingerprint, action };
    return (await bearer(server.url, key, 'POST', '/v1/lists', entry)).json;
  }

  async function makeCommon(key: string, fingerprint: string): Promise<void> {
    for (let n = 0; n < NETWORKS; n++) await ask(key, fingerprint, n);
  }

  test('a fingerprint shared by many networks is not served by the registry, and a customer that lists it is warned', async () => {
    const fingerprint = randomBytes(32).toString('hex');
    for (const key of keys) {
      await ask(key, fingerprint);
      expect(await list(key, fingerprint, 'block')).not.toHaveProperty('warning');
    }
    expect(await ask(server.secretKey, fingerprint)).toContain('registry_known_bad');
    await makeCommon(server.secretKey, fingerprint);
    expect(await ask(server.secretKey, fingerprint)).not.toContain('registry_known_bad');
    const answer = await list(server.secretKey, fingerprint, 'block');
    expect(answer).toMatchObject({ action: 'block', warning: 'common_fingerprint', networks_24h: NEARLY_ALL });
    expect(answer).not.toHaveProperty('shared_registry');
    const entries = [{ fingerprint_hash: fingerprint, action: 'watch' }];
    const { json } = await bearer(server.url, server.secretKey, 'POST', '/v1/lists/batch', { entries });
    expect(json['results']).toEqual([
      { fingerprint_hash: fingerprint, status: 200, warning: 'common_fingerprint', networks_24h: NEARLY_ALL },
    ]);
  });

  test('a fingerprint shared by many networks is not accepted by the registry, whoever blocks it', async () => {
    const fingerprint = randomBytes(32).toString('hex');
    for (const key of keys) {
      await makeCommon(key, fingerprint);
      await list(key, fingerprint, 'block');
    }
    expect(await ask(server.secretKey, fingerprint)).not.toContain('registry_known_bad');
  });
});
