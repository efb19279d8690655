import { describe, expect, test } from 'vitest';
import { DECISIONS } from '../../../src/core/decision.ts';
import { band } from '../../../src/core/fuse.ts';
import { DEFAULT_POLICY } from '../../../src/core/policy.ts';
import { RULES } from '../../../src/core/rules/index.ts';
import { eventBody, exampleEvent } from '../../../src/core/webhook-event.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);

describe("an event's body", () => {
  test('has exactly the six fields, in their order, the time in whole seconds', () => {
    const body = eventBody({
      requestId: 'req_1',
      decision: 'REVIEW',
      score: 73.5,
      reasons: ['device_headless', 'journey_direct_hit'],
      occurredAtMs: NOW_MS + 999,
    });
    expect(body).toBe(
      '{"event":"REVIEW","request_id":"req_1","decision":"REVIEW","score":73.5,' +
        `"reasons":["device_headless","journey_direct_hit"],"timestamp":${NOW_MS / 1000}}`,
    );
  });

  test('has an empty array where no rule fired', () => {
    const body = eventBody({ requestId: 'r', decision: 'ALLOW', score: 0, reasons: [], occurredAtMs: NOW_MS });
    expect(JSON.parse(body)).toMatchObject({ score: 0, reasons: [] });
  });
});

describe('the example of a test', () => {
  test.each(DECISIONS)('for %s could be a real one', (decision) => {
    const event = JSON.parse(exampleEvent(1_795_996_800, 'req_x', decision)) as Record<string, unknown>;
    expect(Object.keys(event)).toEqual(['event', 'request_id', 'decision', 'score', 'reasons', 'timestamp']);
    expect(event).toMatchObject({ event: decision, decision, request_id: 'req_x', timestamp: 1_795_996_800 });
    expect(band(Number(event['score']), 'payment', DEFAULT_POLICY)).toBe(decision);
    const codes = RULES.map(({ code }) => code);
    for (const reason of event['reasons'] as string[]) expect(codes).toContain(reason);
  });
});
