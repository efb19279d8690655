import { spawnSync } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import type { WebhookSecrets } from '../../../src/work/webhook.ts';
import { exampleEvent } from '../../../src/work/webhook-event.ts';
import { signedHeaders } from '../../../src/webhooks/sign-delivery.ts';

/** A delivery on the wire, computed by openssl, which a test below verifies. */
interface Vector {
  readonly name: string;
  readonly secret: string;
  readonly previous_secret: string | null;
  readonly delivery_id: string;
  readonly timestamp: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const VECTORS = JSON.parse(
  readFileSync(new URL('../../contract/webhook-vectors.json', import.meta.url), 'utf8'),
) as readonly Vector[];

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

function hmacByOpenssl(key: Buffer, data: Buffer): Buffer {
  const args = ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${key.toString('hex')}`, '-binary'];
  return spawnSync('openssl', args, { input: data }).stdout;
}

function secretsOf(vector: Vector): WebhookSecrets {
  const { secret: current, previous_secret: secret } = vector;
  return { current, previous: secret === null ? [] : [{ secret, untilMs: (vector.timestamp + 60) * 1_000 }] };
}

describe('the webhook vectors', () => {
  test('The vectors cover each kind of body, a later attempt and a rotation', () => {
    expect(VECTORS).toHaveLength(6);
    expect(VECTORS.filter(({ body }) => body === '')).toHaveLength(1);
    expect(VECTORS.filter(({ body }) => Buffer.byteLength(body) > body.length)).toHaveLength(1);
    expect(VECTORS.filter((vector) => vector.previous_secret !== null)).toHaveLength(1);
    expect(new Set(VECTORS.map((vector) => vector.delivery_id)).size).toBe(5);
  });

  test.each(VECTORS)('The vector "$name" equals the result of openssl', (vector) => {
    const secrets = vector.previous_secret === null ? [vector.secret] : [vector.secret, vector.previous_secret];
    const body = Buffer.from(vector.body);
    const content = Buffer.concat([Buffer.from(`${vector.delivery_id}.${vector.timestamp}.`), body]);
    const standard = secrets.map((secret) => {
      const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
      return `v1,${hmacByOpenssl(key, content).toString('base64')}`;
    });
    expect(vector.headers).toEqual({
      'X-SVC-Webhook-Signature': hmacByOpenssl(Buffer.from(secrets.at(-1) ?? ''), body).toString('hex'),
      'X-SVC-Webhook-Ts': String(vector.timestamp),
      'webhook-id': vector.delivery_id,
      'webhook-timestamp': String(vector.timestamp),
      'webhook-signature': standard.join(' '),
    });
  });
});

describe('signedHeaders', () => {
  test.each(VECTORS)('The signed headers equal the vector "$name"', (vector) => {
    const headers = signedHeaders({
      deliveryId: vector.delivery_id,
      body: Buffer.from(vector.body),
      secrets: secretsOf(vector),
      nowMs: vector.timestamp * 1_000 + 999,
    });
    expect(headers).toEqual({
      ...vector.headers,
      'content-type': 'application/json',
      'user-agent': 'Gatehouse-Webhooks/1',
    });
  });

  test('The signed headers include the old secret up to the last millisecond of its grace period, and never afterwards', () => {
    const [current, previous] = [newSecret(), newSecret()];
    const body = Buffer.from('{}');
    const until = 1_795_996_800_000;
    const signed = (secrets: WebhookSecrets, nowMs: number) =>
      signedHeaders({ deliveryId: 'dlv_1', body, secrets, nowMs });
    const alone = (secret: string, nowMs: number) => signed({ current: secret, previous: [] }, nowMs);
    const rotated = { current, previous: [{ secret: previous, untilMs: until }] };

    expect(signed(rotated, until - 1)).toEqual({
      ...alone(previous, until - 1),
      'webhook-signature': [current, previous].map((secret) => alone(secret, until - 1)['webhook-signature']).join(' '),
    });
    expect(signed(rotated, until)).toEqual(alone(current, until));
  });

  test('With several valid secrets the body signature uses the oldest, and webhook-signature lists all, newest first', () => {
    const [current, second, first, oldest] = [newSecret(), newSecret(), newSecret(), newSecret()];
    const nowMs = 1_795_996_800_000;
    const at = (one: string, untilMs: number) => ({ secret: one, untilMs });
    const previous = [at(second, nowMs + 10), at(first, nowMs + 20), at(oldest, nowMs)];
    const sign = (secrets: WebhookSecrets) =>
      signedHeaders({ deliveryId: 'dlv_1', body: Buffer.from('{}'), secrets, nowMs });
    const alone = (one: string) => sign({ current: one, previous: [] });
    expect(sign({ current, previous })).toEqual({
      ...alone(first),
      'webhook-signature': [current, second, first].map((one) => alone(one)['webhook-signature']).join(' '),
    });
  });
});

test.each([0, 1, 16_300, 16_400, 1_048_576])('A body of %i bytes is signed as createHmac signs it', (bytes) => {
  const secret = newSecret();
  const body = randomBytes(bytes);
  const secrets = { current: secret, previous: [] };
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  for (const deliveryId of ['dlv_1', 'dlv_2']) {
    const headers = signedHeaders({ deliveryId, body, secrets, nowMs: 5_000 });
    const standard = createHmac('sha256', key).update(`${deliveryId}.5.`).update(body).digest('base64');
    expect(headers).toMatchObject({
      'X-SVC-Webhook-Signature': createHmac('sha256', secret).update(body).digest('hex'),
      'webhook-signature': `v1,${standard}`,
    });
  }
});

test('A secret longer than a block of the hash is signed as createHmac signs it', () => {
  const secret = `whsec_${randomBytes(100).toString('base64')}`;
  const headers = signedHeaders({
    deliveryId: 'dlv_1',
    body: Buffer.from('{}'),
    secrets: { current: secret, previous: [] },
    nowMs: 5_000,
  });
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update('dlv_1.5.{}').digest('base64')}`);
  expect(headers['X-SVC-Webhook-Signature']).toBe(createHmac('sha256', secret).update('{}').digest('hex'));
});

describe('a receiver with the package standardwebhooks', () => {
  const body = exampleEvent(Math.floor(Date.now() / 1000), 'req_1', 'BLOCK');
  const send = (secrets: WebhookSecrets) =>
    signedHeaders({ deliveryId: 'dlv_1', body: Buffer.from(body), secrets, nowMs: Date.now() });

  test('The package standardwebhooks verifies a delivery and rejects a modified one', () => {
    const secret = newSecret();
    const headers = send({ current: secret, previous: [] });
    expect(new Webhook(secret).verify(Buffer.from(body), headers)).toEqual(JSON.parse(body));
    expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow('No matching signature');
    expect(() => new Webhook(secret).verify(body, { ...headers, 'webhook-id': 'dlv_2' })).toThrow();
    expect(() => new Webhook(newSecret()).verify(body, headers)).toThrow('No matching signature');
  });

  test('The package standardwebhooks verifies with the old and the new secret during the grace period', () => {
    const [current, previous] = [newSecret(), newSecret()];
    const headers = send({ current, previous: [{ secret: previous, untilMs: Date.now() + 60_000 }] });
    for (const secret of [current, previous]) expect(new Webhook(secret).verify(body, headers)).toBeTruthy();
  });
});
