import { describe, expect, test } from 'vitest';
import { candidateRoutes } from '../../../src/manage/candidates.ts';
import { decisionRoutes } from '../../../src/manage/decisions.ts';
import type { Managed, ManagedAnswer, ManagedHandler, ManagedRequest } from '../../../src/manage/managed.ts';
import { Cursors } from '../../../src/manage/paging.ts';
import type { DecisionLog } from '../../../src/store/decision-log.ts';
import { decide } from '../store/decision-log-support.ts';
import { customer, tempStore } from '../store/support.ts';

const NOW = 1_790_000_000_500;

function setUp(log?: Partial<DecisionLog>) {
  const store = tempStore();
  const decisions = Object.assign(store.openDecisionLog(), log);
  const handlers = new Map<string, ManagedHandler>();
  const unwrapped = Object.assign((_options: object, handler: ManagedHandler) => handler, {
    route(path: string, methods: Readonly<Record<string, ManagedHandler>>) {
      for (const handler of Object.values(methods)) handlers.set(path, handler);
      return { path };
    },
  }) as unknown as Managed;
  const cursors = new Cursors(Buffer.alloc(32));
  decisionRoutes(unwrapped, { decisions, cursors, labelOf: (_customer, id) => (id === labelled ? 'fraud' : null) });
  const fingerprints = { find: () => ({ isSeen: true, networks24h: 1, isCommon: false }) };
  candidateRoutes(unwrapped, { decisions, lists: store.lists, registry: store.registry, fingerprints, cursors });
  let labelled = '';
  return {
    decisions,
    cursors,
    label: (id: string) => void (labelled = id),
    ask: async (path: string, query = '', requestId = ''): Promise<ManagedAnswer> => {
      const handler = handlers.get(path);
      if (handler === undefined) throw new Error(`there is no ${path}`);
      return handler({
        caller: { customer: customer(1) },
        params: { request_id: requestId },
        query: new URLSearchParams(query),
        nowMs: NOW,
        nowSeconds: Math.floor(NOW / 1000),
      } as unknown as ManagedRequest);
    },
  };
}

describe('a decision', () => {
  test('names the family of each reason, the strongest in its hint, and its label', async () => {
    const { decisions, ask, label } = setUp();
    const reasons = ['device_http_library', 'of_another_version', 'missing_session_token'];
    const id = decide(decisions, customer(1), { occurredAtMs: NOW, decision: 'REVIEW', reasons }, 3.4);
    label(id);
    const answer = await ask('/v1/decisions/{request_id}', '', id);
    expect(answer).toMatchObject({
      kind: 'json',
      status: 200,
      body: {
        request_id: id,
        reasons,
        review_hint: expect.stringMatching(/^Strongest evidence: .* \(device_http_library\)\.$/) as string,
        latency_ms: 3,
        occurred_at: 1_790_000_000,
        contributions: [{ family: 'client' }, { family: 'unknown' }, { family: 'token' }],
        label: 'fraud',
      },
    });
  });
});

describe('a search', () => {
  test('is refused with 429 while too many are running', async () => {
    const busy = (): Promise<{ kind: 'busy' }> => Promise.resolve({ kind: 'busy' });
    const { ask } = setUp({ search: busy, fingerprints: busy });
    for (const path of ['/v1/decisions', '/v1/lists/candidates']) {
      expect(await ask(path)).toMatchObject({
        kind: 'problem',
        problem: { status: 429, code: 'overloaded', retryAfterSeconds: 1 },
      });
    }
  });

  test('is refused with 400 by a cursor whose place has another form', async () => {
    const { ask, cursors } = setUp();
    for (const path of ['/v1/decisions', '/v1/lists/candidates']) {
      for (const place of ['', '1', 'a.b', '1.2.3.4', '1.2.x', '1e99.2']) {
        const cursor = cursors.issue(path, 1, place);
        expect(await ask(path, `cursor=${cursor}`)).toMatchObject({ kind: 'problem', problem: { status: 400 } });
      }
    }
  });
});
