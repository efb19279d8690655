import { expect, test } from 'vitest';
import { extractionJson } from '../../../../src/extract/base/job-wire.ts';
import { extraction, FAILED, NOW_MS, STORE } from '../../api/extractions/support.ts';

/** Members of a job's status that a run of a job seldom has. The order of all is in test/contract/extractions.test.ts. */

test('Members without a value are null, and only a failed job has a failure', () => {
  const queued = extractionJson(extraction());
  expect(queued).toMatchObject({ started_at: null, finished_at: null, expires_at: null, waiting_until: null });
  expect(queued).not.toHaveProperty('failure');
  const { failure } = extractionJson(extraction(FAILED)) as { failure: unknown };
  expect(failure).toEqual({ reason: 'source_unavailable', retryable: true });
});

test('Notes have messages, and waiting_until is in seconds', () => {
  const notes = ['records_truncated', 'list_incomplete'] as const;
  expect(extractionJson(extraction({ notes, waitingUntilMs: NOW_MS + 90_500 }))).toMatchObject({
    waiting_until: Math.floor(NOW_MS / 1_000) + 90,
    notes: [
      { code: 'records_truncated', message: expect.stringContaining('_meta.truncated') as string },
      { code: 'list_incomplete', message: expect.stringContaining('list') as string },
    ],
  });
});

test('The delivery has its type as in the request and its status, and nothing about its destination', () => {
  const url = 'https://shop.example/secret-path';
  const s3 = { endpoint: 'https://s3.example', bucket: 'bucket-name', region: 'r', prefix: 'p' };
  const deliveryOf = (changes: object): unknown => {
    const json = extractionJson(extraction({ delivery: { ...STORE, ...changes } }));
    expect(JSON.stringify(json)).not.toMatch(/secret-path|bucket-name/);
    return json['delivery'];
  };
  expect(deliveryOf({ kind: 'sync', waitSeconds: 30 })).toEqual({ type: 'sync', status: 'pending' });
  expect(deliveryOf({ kind: 'webhook', url, batchSize: 1 })).toEqual({ type: 'webhook', status: 'pending' });
  expect(deliveryOf({ kind: 's3', s3, status: 'failed' })).toEqual({ type: 'destination', status: 'failed' });
  expect(deliveryOf({ kind: 'http_put', url })).toEqual({ type: 'destination', status: 'pending' });
});
