import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, UNSIGNED } from '../../support/manage.ts';
import { type Grant, grantedToken, plainToken, signedToken } from '../../support/collector.ts';
import { CALM, decide, newCustomer, send, type SendOptions, TRANSPORTS } from '../../support/requests.ts';
import { startServer } from '../../support/server.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

const SHOP = 'https://shop.example';
const OTHER = 'https://other-shop.example';
const TOKEN_RULES = ['token_forged', 'token_replayed', 'token_unbound'];

interface Keys {
  readonly secretKey: string;
  readonly publicKey: string;
}

const newFingerprint = (): string => randomBytes(32).toString('hex');

/** Gets a grant as a page does; behind a trusted proxy from `address`. */
async function grantOf(url: string, key: string, origin: string, address?: string): Promise<Grant> {
  const forwarded = address === undefined ? {} : { 'X-Forwarded-For': address };
  const headers = { ...UNSIGNED, 'X-SVC-Key': key, Origin: origin, ...forwarded };
  const { status, json } = await send(url, key, { path: '/v1/collector/grant', headers });
  if (status !== 200) throw new Error(`no grant: ${status}`);
  return json as unknown as Grant;
}

/** Returns the reasons about tokens. */
async function reasonsOf(url: string, key: string, token: string, options: SendOptions = {}, body: object = {}) {
  const answer = await decide(url, key, { ...CALM, ...body, session_token: token }, options);
  expect(answer.status).toBe(200);
  return (answer.json['reasons'] as string[]).filter((reason) => TOKEN_RULES.includes(reason));
}

/** Contract, 17.3. */
describe.each(TRANSPORTS)('tokens with a grant over %s', (transport) => {
  let server: SharedServer;
  let shop: Keys;
  let other: Keys;
  beforeAll(async () => {
    server = await sharedServer(transport);
    shop = await newCustomer(server.url, server.dataDir, null, [SHOP]);
    other = await newCustomer(server.url, server.dataDir, null, [OTHER, SHOP]);
  });
  const fresh = (seq = 0, aud = SHOP) =>
    grantOf(server.url, shop.publicKey, SHOP).then((grant) => grantedToken({ fp: newFingerprint() }, grant, seq, aud));

  test('A token fires no rule the first time, and token_replayed the second', async () => {
    const token = await fresh();
    expect(await reasonsOf(server.url, shop.secretKey, token)).toEqual([]);
    const { json } = await decide(server.url, shop.secretKey, { ...CALM, session_token: token });
    expect(json).toMatchObject({ decision: 'SOFT_CHALLENGE', score: 60, reasons: ['token_replayed'] });
    expect(json['session_mode']).not.toBe('unverified');
  });

  test('The tokens of one nonce are each accepted once', async () => {
    const grant = await grantOf(server.url, shop.publicKey, SHOP);
    for (const seq of [0, 2, 1, 3]) {
      const token = grantedToken({ fp: newFingerprint() }, grant, seq, SHOP);
      expect(await reasonsOf(server.url, shop.secretKey, token)).toEqual([]);
      expect(await reasonsOf(server.url, shop.secretKey, token)).toEqual(['token_replayed']);
    }
  });

  test('Of many copies of one token at once, exactly one is not a replay', async () => {
    const token = await fresh();
    const all = await Promise.all(Array.from({ length: 24 }, () => reasonsOf(server.url, shop.secretKey, token)));
    expect(all.filter((reasons) => reasons.length === 0)).toHaveLength(1);
  });

  test('A token that is signed with another nonce, or made for another page or customer, is forged', async () => {
    const grant = await grantOf(server.url, shop.publicKey, SHOP);
    const forged = grantedToken(
      { fp: newFingerprint() },
      { ...grant, nonce: randomBytes(32).toString('base64url') },
      0,
      SHOP,
    );
    expect(await reasonsOf(server.url, shop.secretKey, forged)).toEqual(['token_forged']);
    expect(await reasonsOf(server.url, shop.secretKey, await fresh(0, OTHER))).toEqual(['token_forged']);
    // Another customer allows the same origin.
    expect(await reasonsOf(server.url, other.secretKey, await fresh())).toEqual(['token_forged']);
    const { json } = await decide(server.url, shop.secretKey, { ...CALM, session_token: forged, event_type: 'login' });
    expect(json).toMatchObject({ decision: 'SOFT_CHALLENGE', score: 70 });
  });

  test('A page that decides itself must be the page of its token', async () => {
    const { publicKey } = await newCustomer(server.url, server.dataDir, null, [SHOP, OTHER]);
    const grant = await grantOf(server.url, publicKey, SHOP);
    const tokens = [0, 1, 2].map((seq) => grantedToken({ fp: newFingerprint() }, grant, seq, SHOP));
    const [own = '', swapped = '', backend = ''] = tokens;
    expect(await reasonsOf(server.url, publicKey, own, { headers: { Origin: SHOP } })).toEqual([]);
    expect(await reasonsOf(server.url, publicKey, swapped, { headers: { Origin: OTHER } })).toEqual(['token_forged']);
    expect(await reasonsOf(server.url, publicKey, backend)).toEqual([]);
  });

  test('A token without a grant fires no rule, however often it is used', async () => {
    const token = plainToken({ fp: newFingerprint() });
    for (let n = 0; n < 3; n++) expect(await reasonsOf(server.url, shop.secretKey, token)).toEqual([]);
  });

  test('Hostile tokens are decided like opaque ones', async () => {
    const deep = `{"v":1,"fp":"${newFingerprint()}","sid":"s","iat":1,"g":${'['.repeat(3_000)}${']'.repeat(3_000)}}`;
    for (const token of [
      'st2.',
      'st2..',
      'st2.AAAA.',
      `st2.${'.'.repeat(500)}`,
      `st2.${Buffer.from('null').toString('base64url')}.${'A'.repeat(43)}`,
      signedToken(deep, 'x'),
      signedToken({ v: 2, fp: newFingerprint(), sid: 's', iat: 1, g: {}, seq: [], aud: null }, 'x'),
      `st2.${'A'.repeat(8_000)}.${'A'.repeat(43)}`,
    ]) {
      const { status, json } = await decide(server.url, shop.secretKey, { ...CALM, session_token: token });
      expect([token.slice(0, 20), status, json['session_mode']]).toEqual([token.slice(0, 20), 200, 'unverified']);
    }
  });

  test('A block of a browser holds for all of its fingerprints, and for no other browser', async () => {
    const did = randomBytes(16).toString('base64url');
    const entry = {
      fingerprint_hash: createHash('sha256').update(`did:${did}`).digest('hex'),
      action: 'block',
    };
    const { status, json } = await bearer(server.url, shop.secretKey, 'POST', '/v1/lists', entry);
    expect([status, json['warning']]).toEqual([201, undefined]);
    const decisionOf = async (token: string): Promise<unknown> =>
      (await decide(server.url, shop.secretKey, { ...CALM, session_token: token })).json;
    const blocked = { decision: 'BLOCK', score: 100, reasons: expect.arrayContaining(['list_block']) as unknown };
    expect(await decisionOf(plainToken({ fp: newFingerprint(), did }))).toMatchObject(blocked);
    const grant = await grantOf(server.url, shop.publicKey, SHOP);
    expect(await decisionOf(grantedToken({ fp: newFingerprint(), did }, grant, 0, SHOP))).toMatchObject(blocked);
    expect(await decisionOf(plainToken({ fp: newFingerprint(), did: `${did}x` }))).toMatchObject({ decision: 'ALLOW' });
    // The fingerprint's own permission does not weaken it.
    const fp = newFingerprint();
    await bearer(server.url, shop.secretKey, 'POST', '/v1/lists', { fingerprint_hash: fp, action: 'allow' });
    expect(await decisionOf(plainToken({ fp, did }))).toMatchObject(blocked);
  });
});

describe('grants over time', () => {
  test('A grant outlives a restart, is bound to its network, and expires', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-grants-'));
    const env = { GATEHOUSE_TRUSTED_PROXIES: '127.0.0.1', GATEHOUSE_SIMULATED_TIME: '1' };
    let server = await startServer({ env, dataDir });
    const start = Math.floor(Date.now() / 1_000);
    const at = (seconds: number): SendOptions => ({ timestampSeconds: start + seconds });
    try {
      const { secretKey, publicKey } = await newCustomer(server.url, dataDir, null, [SHOP]);
      // The virtual clock follows signed requests.
      expect(await reasonsOf(server.url, secretKey, plainToken({ fp: newFingerprint() }), at(0))).toEqual([]);
      const grant = await grantOf(server.url, publicKey, SHOP, '81.2.69.160');
      let seq = 0;
      const token = () => grantedToken({ fp: newFingerprint() }, grant, seq++, SHOP);
      const used = token();
      expect(await reasonsOf(server.url, secretKey, used, at(1))).toEqual([]);
      expect(await reasonsOf(server.url, secretKey, token(), at(2), { ip: '81.2.70.160' })).toEqual(['token_unbound']);
      expect(await reasonsOf(server.url, secretKey, token(), at(3), { ip: '2a00:1450:4001:81b::1' })).toEqual([]);
      await server.stop();
      server = await startServer({ env, dataDir });
      expect(await reasonsOf(server.url, secretKey, token(), at(4))).toEqual([]);
      expect(await reasonsOf(server.url, secretKey, used, at(5))).toEqual(['token_replayed']);
      expect(await reasonsOf(server.url, secretKey, token(), at(2_090))).toEqual([]);
      const late = await decide(server.url, secretKey, { ...CALM, session_token: token() }, at(2_200));
      expect(late.json).toMatchObject({ decision: 'ALLOW_WATCH', score: 30, reasons: ['token_forged'] });
    } finally {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});
