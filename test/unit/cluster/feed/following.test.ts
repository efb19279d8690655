import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../../../src/kernel/ids.ts';
import type { ChangeOf } from '../../../../src/state/feed/changes.ts';
import { followJudgement } from '../../../../src/state/feed/feedback.ts';
import { followWebhookChange } from '../../../../src/webhooks/follow-changes.ts';
import type { Webhook, WebhookId } from '../../../../src/work/webhook.ts';
import { Subscribers } from '../../../../src/webhooks/due-delivery.ts';
import { CHANGES_FROM_MS } from '../../../support/any-change.ts';
import { caughtUp, openNode } from '../../../support/feeds.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../../../support/redis.ts';
import { customer, hashOf, value } from '../../state/support.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(() => redis.flush());

const ORIGIN = { by: 'service', nowMs: CHANGES_FROM_MS } as const;
const ONE = customer(1);

describe.runIf(HAS_REDIS)('what a node has in memory', () => {
  test('A webhook that another node creates, changes and removes is followed by the deliveries of this one', async () => {
    const [one, other] = [await openNode(redis.url), await openNode(redis.url)];
    const subscribers = new Subscribers();
    const ended: string[] = [];
    const dispatcher = {
      subscribers,
      subscribe: (webhook: Webhook) => subscribers.add(webhook),
      prefetch: { giveUp: (id: string, why: string) => ended.push(`${id} ${why}`), changed: () => {} },
    } as unknown as Parameters<typeof followWebhookChange>[0];
    other.feed.onOthersCommitted(({ change }) => followWebhookChange(dispatcher, other.store.webhooks, change));
    const id = newId('wh', CHANGES_FROM_MS) as WebhookId;
    const webhook: ChangeOf<'webhook.created'>['webhook'] = {
      id,
      customer: ONE,
      url: 'https://hooks.example/',
      eventTypes: ['BLOCK'],
      description: null,
      disabled: false,
      health: {
        status: 'healthy',
        consecutiveFailures: 0,
        cooldownMs: 0,
        unhealthySinceMs: null,
        nextProbeAtMs: null,
        lastSuccessAtMs: null,
        lastFailureAtMs: null,
      },
      createdAtMs: CHANGES_FROM_MS,
      updatedAtMs: CHANGES_FROM_MS,
    };
    await value(one.feed.commit({ kind: 'webhook.created', webhook, sealed: Buffer.from('s') }, ORIGIN));
    await caughtUp([one, other]);
    expect(subscribers.find(id)?.webhook.url).toBe('https://hooks.example/');
    const url = 'https://other.example/';
    await value(one.feed.commit({ kind: 'webhook.changed', customer: ONE, id, change: { url } }, ORIGIN));
    await caughtUp([one, other]);
    expect(subscribers.find(id)?.webhook.url).toBe(url);
    await value(one.feed.commit({ kind: 'webhook.removed', customer: ONE, id }, ORIGIN));
    await caughtUp([one, other]);
    expect([subscribers.find(id), ended]).toEqual([undefined, [`${id} gone`]]);
  });

  test('A BLOCK that waits for its write is dropped when another node labels the fingerprint legitimate', async () => {
    const [one, other] = [await openNode(redis.url), await openNode(redis.url)];
    other.feed.onOthersCommitted(({ change }) => followJudgement(other.store, change));
    const nowSeconds = CHANGES_FROM_MS / 1000;
    other.store.sightingQueue.noteDecision(ONE, hashOf(1), nowSeconds, () => ({ network: 1, isFamiliar: false }));
    const label: ChangeOf<'label.set'> = {
      kind: 'label.set',
      customer: ONE,
      decision: { requestId: newId('req', CHANGES_FROM_MS), fingerprintHash: hashOf(1), publicKey: false },
      label: 'legitimate',
      note: null,
      judging: { waiting: null, isEvidence: true },
    };
    await value(one.feed.commit(label, ORIGIN));
    await caughtUp([one, other]);
    expect(await other.store.sightingQueue.flush(nowSeconds)).toBeNull();
    expect(other.store.tables.sightings.row(ONE, hashOf(1))).toBeNull();
  });
});
