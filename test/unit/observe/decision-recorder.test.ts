import { Writable } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import type { FingerprintHash } from '../../../src/kernel/brand.ts';
import { DECISIONS } from '../../../src/risk/decision.ts';
import { encodeRecord } from '../../../src/risk/decision-record.ts';
import { evaluateRules, tuneRules } from '../../../src/risk/evaluate.ts';
import { fuse } from '../../../src/risk/fuse.ts';
import { DEFAULT_POLICY } from '../../../src/risk/policy/policy.ts';
import { RULES } from '../../../src/risk/rules/rule-table.ts';
import { BATCH_REQUESTS_MAX } from '../../../src/kernel/limits.ts';
import { DecisionRecorder } from '../../../src/observe/decision-recorder.ts';
import { DecisionCounts } from '../../../src/observe/decision-counts.ts';
import {
  ANSWER_SHADOW_ROUTED,
  ANSWER_STORE_FAILED,
  AnswerReader,
  AnswerWriter,
  createBatchBuffer,
  type Answer,
} from '../../../src/frames/batch-buffer.ts';
import { collectorToken, facts, listedAs } from '../../support/facts.ts';

const ANSWER: Answer = {
  status: 200,
  decision: 4,
  flags: 0,
  score: 87.5,
  rulesLow: 0b11,
  rulesHigh: 1,
  text: '',
  record: new Uint8Array(0),
};
const RECORD = {
  occurredAtMs: 0,
  sessionMode: 'full',
  shadow: null,
  publicKey: false,
  eventType: '',
  facts: null,
  contributions: [],
} as const;
const CONTEXT = { request: { key: { prefix: 'sk_live_AAAA', kind: 'secret', customer: 7 } } };

/** `sampled`: how many decisions the line of each further one represents; 0 for no line. */
function setUp(level = 'info', sampled: number[] = []) {
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { level },
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
        done();
      },
    }),
  );
  const counts = new DecisionCounts(64);
  const frame = createBatchBuffer();
  return {
    lines,
    counts,
    recorder: new DecisionRecorder(counts, log, { next: () => sampled.shift() ?? 1 }),
    writer: new AnswerWriter(frame),
    answers: new AnswerReader(frame),
  };
}

describe('the recorder of decisions', () => {
  test('The recorder counts every decision and logs only the sampled ones', () => {
    const { recorder, writer, answers, counts, lines } = setUp('info', [0, 40]);
    writer.write(0, ANSWER);
    recorder.decided(CONTEXT, answers, 0, 1);
    expect(lines).toEqual([]);
    recorder.decided(CONTEXT, answers, 0, 1.23456);
    expect(counts.decisions[4]).toBe(2);
    expect([counts.rules[0], counts.rules[1], counts.rules[32]]).toEqual([2, 2, 2]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      event: 'decision',
      decision: 'BLOCK',
      score: 87.5,
      customer: 7,
      key_prefix: 'sk_live_AAAA',
      key_kind: 'secret',
      latency_ms: 1.235,
      sampled: 40,
    });
  });

  test('The recorder builds no line that the log level would drop', () => {
    for (const [level, left] of [
      ['warn', 1],
      ['info', 0],
    ] as const) {
      const sampled = [1];
      const { recorder, writer, answers } = setUp(level, sampled);
      writer.write(0, ANSWER);
      recorder.decided(CONTEXT, answers, 0, 1);
      expect(sampled).toHaveLength(left);
    }
  });

  test('The recorder counts shadow reviews and remembers when the store failed', () => {
    const { recorder, writer, answers, counts } = setUp();
    writer.write(0, { ...ANSWER, flags: ANSWER_SHADOW_ROUTED });
    recorder.decided(CONTEXT, answers, 0, 1);
    expect(counts.shadowRouted).toBe(1);
    expect(recorder.storeFailedAtMs).toBe(Number.NEGATIVE_INFINITY);
    writer.write(1, { ...ANSWER, flags: ANSWER_STORE_FAILED });
    recorder.decided(CONTEXT, answers, 1, 1);
    expect(recorder.storeFailedAtMs).toBeGreaterThan(0);
  });

  test('The recorder counts refusals and batches, and logs failures at most once a second', () => {
    const { recorder, counts, lines } = setUp();
    for (let i = 0; i < 50; i++) {
      recorder.refused('unknown_key');
      recorder.scoreRefused('internal_error', 'Error: inside');
      recorder.scoreRefused('malformed_json', '');
      recorder.batchFailed(new Error('the worker died'));
      recorder.batchLeft(BATCH_REQUESTS_MAX);
    }
    expect(Object.fromEntries(counts.refusals)).toEqual({ unknown_key: 50, internal_error: 50, malformed_json: 50 });
    expect(counts.batchFailures).toBe(50);
    expect(counts.batches[BATCH_REQUESTS_MAX]).toBe(50);
    // One line of each kind; one more a second if the machine stood still meanwhile.
    expect(lines.length).toBeGreaterThanOrEqual(2);
    expect(lines.length).toBeLessThanOrEqual(6);
    expect(lines[0]).toMatchObject({ detail: 'Error: inside' });
  });
});

describe('the canonical line', () => {
  const SECRETS = {
    token: 'st1.the-text-of-the-token',
    session: 'the-session-of-the-token',
    entity: 'anna.secret@10minutemail.com',
    entityName: 'the-name-of-the-entity',
    header: 'the-value-of-a-header',
    headerName: 'x-the-name-of-a-header',
    url: 'https://shop.example/the-path-of-the-url/.env',
    referrer: 'https://elsewhere.example/the-path-of-the-referrer',
    userAgent: 'python-requests/2.31 the-text-of-the-agent',
  };

  test('The canonical log line contains reasons and weights, and no token, entity, header, page address or user agent', () => {
    const token = collectorToken({ webdriver: true });
    const given = facts({
      token: token.kind === 'collector' ? { ...token, sessionId: SECRETS.session } : token,
      fingerprintHash: 'f'.repeat(64) as FingerprintHash,
      entities: [
        { name: 'email', value: SECRETS.entity },
        { name: SECRETS.entityName, value: SECRETS.entity },
      ],
      headers: new Map([
        ['accept', 'text/html'],
        [SECRETS.headerName, SECRETS.header],
      ]),
      url: SECRETS.url,
      referrer: SECRETS.referrer,
      userAgent: SECRETS.userAgent,
      list: listedAs('block'),
      registry: { risk: 95, customers: 4 },
    });
    const { contributions } = evaluateRules(tuneRules(RULES, DEFAULT_POLICY), given, DEFAULT_POLICY);
    const verdict = fuse(contributions, given, DEFAULT_POLICY);
    expect(verdict.reasons.length).toBeGreaterThan(5);
    const { recorder, writer, answers, lines } = setUp();
    const record = encodeRecord({
      ...RECORD,
      requestId: 'req_1',
      verdict,
      eventType: 'checkout',
      facts: given,
      contributions,
    });
    writer.write(0, { ...ANSWER, decision: DECISIONS.indexOf(verdict.decision), score: verdict.score, record });
    recorder.decided(CONTEXT, answers, 0, 1);
    expect(lines[0]).toMatchObject({
      request_id: 'req_1',
      decision: 'BLOCK',
      score: 100,
      reasons: verdict.reasons,
      session_mode: 'full',
      event_type: 'checkout',
      ip: '91.10.20.30',
      country: 'DE',
      asn: 3320,
    });
    const line = JSON.stringify(lines[0]);
    for (const secret of [...Object.values(SECRETS), 'anna', '10minutemail', 'the-path', 'f'.repeat(64)])
      expect(line).not.toContain(secret);
  });

  test('The canonical log line of a request without a session contains what is known of it', () => {
    const { recorder, writer, answers, lines } = setUp();
    const verdict = {
      decision: 'SOFT_CHALLENGE',
      score: 50,
      reasons: ['missing_session_token'],
      reviewHint: '',
    } as const;
    writer.write(0, {
      ...ANSWER,
      decision: 2,
      score: 50,
      record: encodeRecord({ ...RECORD, requestId: 'req_2', verdict, sessionMode: 'no_session' }),
    });
    recorder.decided(CONTEXT, answers, 0, 1);
    expect(lines[0]).toMatchObject({ request_id: 'req_2', decision: 'SOFT_CHALLENGE', session_mode: 'no_session' });
  });
});
