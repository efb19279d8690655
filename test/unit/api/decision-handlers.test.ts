import { openDecisionLog } from '../../../src/history/open-decision-log.ts';
import { describe, expect, test } from 'vitest';
import { ROUTES } from '../../../src/contract/routes.ts';
import { candidateHandlers } from '../../../src/api/candidate-handlers.ts';
import { decisionHandlers } from '../../../src/api/decision-handlers.ts';
import type { EndpointFactory } from '../../../src/api/kit/endpoint-factory.ts';
import type { EndpointResponse, EndpointHandler, EndpointRequest } from '../../../src/api/kit/endpoint-types.ts';
import { LinkTargets } from '../../../src/api/link-target.ts';
import { Cursors } from '../../../src/api/kit/paging.ts';
import type { DecisionLog } from '../../../src/history/decision-log.ts';
import { decide } from '../state/decision-log-support.ts';
import { customer, tempStore } from '../state/support.ts';

const NOW = 1_790_000_000_500;

function setUp(log?: Partial<DecisionLog>) {
  const store = tempStore();
  const decisions = Object.assign(openDecisionLog(store), log);
  const unwrapped = ((_options: object, handler: EndpointHandler) => handler) as unknown as EndpointFactory;
  const cursors = new Cursors(Buffer.alloc(32));
  const fingerprints = { find: () => ({ isSeen: true, networks24h: 1, isCommon: false }) };
  const { lists, registry } = store;
  const handlers = {
    ...decisionHandlers(unwrapped, {
      decisions,
      cursors,
      targets: new LinkTargets(Buffer.alloc(32)),
      labelOf: (_customer, id) => (id === labelled ? 'fraud' : null),
      policies: { appliedTo: () => null },
    }),
    ...candidateHandlers(unwrapped, { decisions, lists, registry, fingerprints, cursors }),
  } as unknown as Readonly<Record<string, EndpointHandler>>;
  let labelled = '';
  return {
    decisions,
    cursors,
    label: (id: string) => void (labelled = id),
    ask: async (endpoint: string, query = '', requestId = ''): Promise<EndpointResponse> => {
      const handler = handlers[endpoint];
      if (handler === undefined) throw new Error(`there is no ${endpoint}`);
      return handler({
        caller: { customer: customer(1) },
        params: { request_id: requestId },
        query: new URLSearchParams(query),
        nowMs: NOW,
        nowSeconds: Math.floor(NOW / 1000),
      } as unknown as EndpointRequest);
    },
  };
}

describe('a decision', () => {
  test('A decision contains the family of each reason, the strongest one in its hint, and its label', async () => {
    const { decisions, ask, label } = setUp();
    const reasons = ['device_http_library', 'of_another_version', 'missing_session_token'];
    const id = decide(decisions, customer(1), { occurredAtMs: NOW, decision: 'REVIEW', reasons }, 3.4);
    label(id);
    const answer = await ask('findDecision', '', id);
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
  test('A search is refused with 429 while too many are running', async () => {
    const busy = (): Promise<{ kind: 'busy' }> => Promise.resolve({ kind: 'busy' });
    const { ask } = setUp({ search: busy, fingerprints: busy });
    for (const endpoint of ['searchDecisions', 'searchCandidates']) {
      expect(await ask(endpoint)).toMatchObject({
        kind: 'problem',
        problem: { status: 429, code: 'overloaded', retryAfterSeconds: 1 },
      });
    }
  });

  test('A search is refused with 400 for a cursor whose position has another form', async () => {
    const { ask, cursors } = setUp();
    for (const endpoint of ['searchDecisions', 'searchCandidates'] as const) {
      for (const place of ['', '1', 'a.b', '1.2.3.4', '1.2.x', '1e99.2']) {
        const cursor = cursors.issue(ROUTES[endpoint].path, 1, place);
        expect(await ask(endpoint, `cursor=${cursor}`)).toMatchObject({ kind: 'problem', problem: { status: 400 } });
      }
    }
  });
});
