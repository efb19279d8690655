import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { DECISIONS } from '../../../src/risk/decision.ts';
import { band } from '../../../src/risk/fuse.ts';
import { DEFAULT_POLICY } from '../../../src/risk/policy/policy.ts';
import { RULES } from '../../../src/risk/rules/rule-table.ts';
import { EXTRACTION_EVENTS } from '../../../src/work/webhook.ts';
import { eventBody, exampleEvent } from '../../../src/work/webhook-event.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);

describe("an event's body", () => {
  test("An event's body has exactly the six fields, in their order, with the time in whole seconds", () => {
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

  test("An event's body has an empty array if no rule fired", () => {
    const body = eventBody({ requestId: 'r', decision: 'ALLOW', score: 0, reasons: [], occurredAtMs: NOW_MS });
    expect(JSON.parse(body)).toMatchObject({ score: 0, reasons: [] });
  });
});

describe('the example of a test', () => {
  test.each(DECISIONS)('The example of a test is consistent with a real decision of %s', (decision) => {
    const event = JSON.parse(exampleEvent(1_795_996_800, 'req_x', decision)) as Record<string, unknown>;
    expect(Object.keys(event)).toEqual(['event', 'request_id', 'decision', 'score', 'reasons', 'timestamp']);
    expect(event).toMatchObject({ event: decision, decision, request_id: 'req_x', timestamp: 1_795_996_800 });
    expect(band(Number(event['score']), 'payment', DEFAULT_POLICY)).toBe(decision);
    const codes = RULES.map(({ code }) => code);
    for (const reason of event['reasons'] as string[]) expect(codes).toContain(reason);
  });
});

test.each(['docs/webhooks.md', 'docs/contract.md'])('%s names every event of an extraction', (path) => {
  const page = readFileSync(path, 'utf8');
  const named = [...new Set(page.match(/\bextraction\.[a-z]+\b(?!\.)/g))];
  expect(named.sort()).toEqual([...EXTRACTION_EVENTS].sort());
});
