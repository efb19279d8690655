import { assert, nat, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/kernel/ids.ts';
import { deliveryJson, isDeliveryId, isWebhookId, maskedSecret, webhookJson } from '../../../src/api/webhook-wire.ts';
import { delivery, NOW_MS, SECRET, webhook } from './webhook-support.ts';

const NOW = NOW_MS / 1000;

describe('a webhook on the wire', () => {
  test('A webhook has these fields in this order', () => {
    expect(Object.keys(webhookJson(webhook(), SECRET))).toEqual([
      'id',
      'url',
      'event_types',
      'description',
      'disabled',
      'secret',
      'status',
      'consecutive_failures',
      'unhealthy_since',
      'next_probe_at',
      'last_success_at',
      'last_failure_at',
      'created_at',
      'updated_at',
    ]);
  });

  test('A webhook has times in whole seconds, and null for times that are absent', () => {
    const health = {
      status: 'unhealthy',
      consecutiveFailures: 12,
      unhealthySinceMs: NOW_MS + 1_999,
      cooldownMs: 30_000,
      nextProbeAtMs: NOW_MS + 31_999,
      lastSuccessAtMs: null,
      lastFailureAtMs: NOW_MS + 999,
    } as const;
    const row = webhook({ health, createdAtMs: NOW_MS + 1, updatedAtMs: NOW_MS + 2_500, description: 'desk' });
    expect(webhookJson(row, 'shown')).toEqual({
      id: row.id,
      url: row.url,
      event_types: ['BLOCK'],
      description: 'desk',
      disabled: false,
      secret: 'shown',
      status: 'unhealthy',
      consecutive_failures: 12,
      unhealthy_since: NOW + 1,
      next_probe_at: NOW + 31,
      last_success_at: null,
      last_failure_at: NOW,
      created_at: NOW,
      updated_at: NOW + 2,
    });
  });

  test('A masked secret shows only its last 4 characters', () => {
    expect(maskedSecret(SECRET)).toBe(`whsec_****************${SECRET.slice(-4)}`);
    expect(maskedSecret(SECRET)).toHaveLength('whsec_'.length + 16 + 4);
    expect(maskedSecret(null)).toBe('whsec_****************');
  });
});

describe('a delivery on the wire', () => {
  test('A delivery and its attempts have these fields in this order', () => {
    const attempt = { attempt: 1, startedAtMs: NOW_MS, durationMs: 12, statusCode: 204, error: null };
    const json = deliveryJson(delivery({ attempts: [attempt] }));
    expect(Object.keys(json)).toEqual([
      'id',
      'webhook_id',
      'url',
      'event',
      'request_id',
      'status',
      'trigger',
      'attempt_count',
      'last_status_code',
      'last_error',
      'created_at',
      'completed_at',
      'next_attempt_at',
      'attempts',
    ]);
    const [first] = json['attempts'] as object[];
    expect(Object.keys(first ?? {})).toEqual(['attempt', 'started_at', 'duration_ms', 'status_code', 'error']);
  });

  test('A delivery shows the result of its last attempt', () => {
    const row = delivery({
      status: 'pending',
      attempts: [
        { attempt: 1, startedAtMs: NOW_MS + 100, durationMs: 12.6, statusCode: 503, error: 'http_status' },
        { attempt: 2, startedAtMs: NOW_MS + 2_200, durationMs: 5_000, statusCode: null, error: 'timeout' },
      ],
      nextAttemptAtMs: NOW_MS + 11_200,
    });
    expect(deliveryJson(row)).toMatchObject({
      webhook_id: row.endpointId,
      status: 'pending',
      attempt_count: 2,
      last_status_code: null,
      last_error: 'timeout',
      completed_at: null,
      next_attempt_at: NOW + 11,
      attempts: [
        { attempt: 1, started_at: NOW, duration_ms: 13, status_code: 503, error: 'http_status' },
        { attempt: 2, started_at: NOW + 2, duration_ms: 5_000, status_code: null, error: 'timeout' },
      ],
    });
  });

  test('A delivery shows no error after a successful attempt', () => {
    const row = delivery({
      attempts: [
        { attempt: 1, startedAtMs: NOW_MS, durationMs: 12, statusCode: 500, error: 'http_status' },
        { attempt: 2, startedAtMs: NOW_MS, durationMs: 12, statusCode: 200, error: null },
      ],
    });
    expect(deliveryJson(row)).toMatchObject({ last_status_code: 200, last_error: null });
  });

  test('A delivery shows why it was skipped, with and without an earlier attempt', () => {
    const failed = { attempt: 1, startedAtMs: NOW_MS, durationMs: 12, statusCode: 500, error: 'http_status' } as const;
    const skipped = { status: 'skipped', error: 'unhealthy' } as const;
    expect(deliveryJson(delivery(skipped))).toMatchObject({ attempt_count: 0, last_error: 'unhealthy' });
    expect(deliveryJson(delivery({ ...skipped, attempts: [failed] }))).toMatchObject({
      last_status_code: 500,
      last_error: 'unhealthy',
    });
  });

  test('A delivery of an extraction has no webhook id', () => {
    const row = delivery({ endpointId: newId('ext', NOW_MS), event: 'extraction.completed', trigger: 'extraction' });
    expect(deliveryJson(row)).toMatchObject({ webhook_id: null, event: 'extraction.completed', trigger: 'extraction' });
  });

  test('A delivery does not show its body', () => {
    expect(JSON.stringify(deliveryJson(delivery({ body: Buffer.from('the bytes') })))).not.toContain('the bytes');
  });
});

describe('ids', () => {
  test('Ids that the service makes at any time match the id format', () => {
    const made = property(nat({ max: 2 ** 47 }), (ms) => {
      expect([isWebhookId(newId('wh', ms)), isDeliveryId(newId('dlv', ms))]).toEqual([true, true]);
    });
    assert(made, { seed: 7 });
  });

  test.each([
    '',
    'wh_',
    'deliveries',
    newId('dlv', NOW_MS),
    `${newId('wh', NOW_MS)}\n`,
    `${newId('wh', NOW_MS)}0`,
    'x'.repeat(3_000),
  ])('%j is not a webhook id', (text) => {
    expect(isWebhookId(text)).toBe(false);
  });
});
