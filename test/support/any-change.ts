import type { CustomerNumber } from '../../src/kernel/brand.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { Origin } from '../../src/ports/change-feed.ts';
import type { Change, ChangeKind } from '../../src/state/feed/changes.ts';
import type { OwnRule } from '../../src/risk/policy/own-rule.ts';
import { newCustomer } from '../../src/state/feed/key-changes.ts';
import { listKey } from '../../src/state/tables/list-table.ts';
import { NO_WORK, type ShadowReview } from '../../src/state/tables/review-row.ts';
import { namedItemKey } from '../../src/state/tables/named-list-table.ts';
import { partKeyOf } from '../../src/state/tables/named-list-versions-table.ts';
import { keyOf as sightingKey } from '../../src/state/tables/sighting-row.ts';
import type { Webhook, WebhookHealth, WebhookId } from '../../src/work/webhook.ts';
import { NO_RUNS, type Watch, type WatchId } from '../../src/work/watch.ts';
import { hashOf } from '../unit/state/support.ts';

/** Random changes of every kind over few customers, fingerprints, decisions and webhooks, so that they meet. Repeatable by the seed. */

export const CHANGES_FROM_MS = Date.UTC(2026, 10, 23, 12);

export interface RandomChange {
  readonly change: Change;
  readonly origin: Origin;
}

/** Returns a number below `limit`. */
export type Random = (limit: number) => number;

/** A linear congruential generator, with the constants of Numerical Recipes. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

const HEALTHY: WebhookHealth = {
  status: 'healthy',
  consecutiveFailures: 0,
  cooldownMs: 0,
  unhealthySinceMs: null,
  nextProbeAtMs: null,
  lastSuccessAtMs: null,
  lastFailureAtMs: null,
};

/** Yields changes forever. Clocks of different nodes differ: times go back and forth by up to a minute. */
export function* randomChanges(random: Random): Generator<RandomChange> {
  const requestIds = Array.from({ length: 12 }, () => newId('req', CHANGES_FROM_MS - random(1e6)));
  const webhooks: Webhook[] = [];
  const sealed = (): Buffer => Buffer.from(`secret ${random(3)}`);
  const customer = (): CustomerNumber => (1 + random(4)) as CustomerNumber;
  const fingerprint = () => hashOf(random(15));
  const pick = <T>(items: readonly T[]): T => items[random(items.length)] as T;
  const keyHash = (): string => (1_000 + random(20)).toString(16).padStart(64, '0');
  let nowMs = CHANGES_FROM_MS;

  const entry = () => ({
    fingerprintHash: fingerprint(),
    action: pick(['block', 'allow', 'watch'] as const),
    note: random(2) === 0 ? null : `note ${random(100)} ü`,
    expiresAtSeconds: random(2) === 0 ? null : Math.floor(nowMs / 1000) + random(200) - 50,
  });
  const review = (): ShadowReview => ({
    requestId: pick(requestIds),
    fingerprintHash: random(4) === 0 ? null : fingerprint(),
    publicKey: random(4) === 0,
    decision: pick(['ALLOW', 'REVIEW', 'BLOCK'] as const),
    wouldBe: random(3) === 0 ? 'BLOCK' : null,
    score: random(100) + 0.5,
    reasons: ['ip.hosting'],
    why: 'near_block',
    occurredAtMs: nowMs,
    verdict: null,
    work: NO_WORK,
  });
  const judging = () => ({ waiting: random(3) === 0 ? review() : null, isEvidence: random(2) === 0 });
  const webhook = (): Webhook => ({
    id: newId('wh', nowMs) as WebhookId,
    customer: customer(),
    url: `https://hooks.example/${random(9)}?t=1`,
    eventTypes: ['BLOCK'],
    description: null,
    disabled: false,
    health: HEALTHY,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  });
  const watchIds = Array.from({ length: 3 }, () => newId('wat', CHANGES_FROM_MS) as WatchId);
  const watch = (): Watch => ({
    id: pick(watchIds),
    customer: customer(),
    name: null,
    extraction: { connector: 'generic', operation: 'page.article', input: {} },
    schedule: { kind: 'every', seconds: 300 },
    key: ['id'],
    compare: null,
    emit: ['new', 'changed', 'gone'],
    isPaused: false,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    anchorMs: nowMs,
    dueAtMs: nowMs,
    ...NO_RUNS,
    hasBaseline: random(2) === 0,
    tokenHash: null,
  });
  const known = (): Webhook => (webhooks.length === 0 ? webhook() : pick(webhooks));

  const make: { readonly [Kind in ChangeKind]: () => Change } = {
    'customer.deleted': () => ({
      kind: 'customer.deleted',
      customer: customer(),
      id: newId('cus', nowMs),
      rows: random(9),
    }),
    'customer.created': () => newCustomer(`customer ${random(99)}`, nowMs),
    'customer.changed': () => ({
      kind: 'customer.changed',
      customer: customer(),
      ...(random(2) === 0 && { name: `customer ${random(99)}` }),
      ...(random(2) === 0 && { isSuspended: random(2) === 0 }),
    }),
    'key.created': () => ({
      kind: 'key.created',
      customer: customer(),
      rateLimit: random(2) === 0 ? null : 100,
      keys: [{ kind: 'secret', hash: keyHash(), prefix: 'sk_live_test', origins: [] }],
    }),
    'key.granted': () => ({
      kind: 'key.granted',
      customer: customer(),
      rateLimit: random(2) === 0 ? null : 100,
      keys: [{ kind: 'secret', hash: keyHash(), prefix: 'sk_live_test', origins: [] }],
      grant: {
        name: random(2) === 0 ? '' : 'shop',
        scopes: pick([['gate'], ['decide', 'read'], ['decide', 'read', 'write', 'admin']] as const),
        expiresAtSeconds: random(2) === 0 ? null : Math.floor(nowMs / 1000) + random(100),
        networks: random(2) === 0 ? [] : ['10.0.0.0/8'],
      },
      validKeysMax: pick([null, 2]),
    }),
    'erasure.requested': () => ({
      kind: 'erasure.requested',
      customer: customer(),
      erasure: {
        id: newId('prv', nowMs),
        subject: 'entity.email',
        keepBlocks: random(2) === 0,
        marks: ['00112233aabbccdd'],
        encrypted: random(2) === 0 ? null : Buffer.from('encrypted'),
        requestedAtMs: nowMs,
      },
    }),
    'person.exported': () => ({
      kind: 'person.exported',
      customer: customer(),
      id: newId('prv', nowMs),
      subject: 'entity.email',
    }),
    'erasure.rows': () => ({
      kind: 'erasure.rows',
      customer: customer(),
      rows: {
        lists: [fingerprint()],
        namedItems: [{ list: random(3), key: fingerprint() }],
        versions: [random(3)],
        notes: [pick(requestIds)],
        audit: [],
      },
    }),
    'erasure.finished': () => ({
      kind: 'erasure.finished',
      customer: customer(),
      id: newId('prv', nowMs),
      finish: { atMs: nowMs, erased: { lists: random(3) }, kept: {} },
    }),
    'key.revoked': () => ({ kind: 'key.revoked', hash: keyHash() }),
    'key.replaced': () => ({
      kind: 'key.replaced',
      hash: keyHash(),
      replacedBy: 'sk_live_next',
      endSeconds: Math.floor(nowMs / 1000) + random(100),
    }),
    'keys.revoked_again': () => ({ kind: 'keys.revoked_again', revocations: [[keyHash(), Math.floor(nowMs / 1000)]] }),
    'list.put': () => ({ kind: 'list.put', customer: customer(), entry: entry() }),
    'list.batch': () => ({
      kind: 'list.batch',
      customer: customer(),
      entries: Array.from({ length: 1 + random(random(8) === 0 ? 150 : 5) }, (_none, n) =>
        n < 8 ? entry() : { ...entry(), fingerprintHash: hashOf(100 + random(300)) },
      ),
    }),
    'list.removed': () => ({ kind: 'list.removed', customer: customer(), fingerprintHash: fingerprint() }),
    'registry.imported': () => ({
      kind: 'registry.imported',
      entries: Array.from({ length: random(4) }, () => ({
        fingerprintHash: fingerprint(),
        risk: random(1_000) / 10,
        customers: random(50),
        firstSeenSeconds: 1,
        lastSeenSeconds: Math.floor(nowMs / 1000) - random(1e6),
      })),
      total: random(2) === 0 ? null : 4,
    }),
    'registry.removed': () => ({ kind: 'registry.removed', fingerprintHash: fingerprint() }),
    'model.chosen': () => ({
      kind: 'model.chosen',
      how: pick(['promoted', 'rolled_back', 'resumed'] as const),
      id: random(4) === 0 ? null : `candidate ${random(9)}`,
      previous: random(2) === 0 ? null : 'candidate 1',
      overruled: random(2) === 0 ? [] : ['alarms'],
    }),
    'sightings.noted': () => ({
      kind: 'sightings.noted',
      customer: customer(),
      evidence: pick(['list', 'label', 'decision'] as const),
      seen: Array.from({ length: 1 + random(5) }, () => ({
        fingerprintHash: fingerprint(),
        atSeconds: Math.floor(nowMs / 1000) - random(200_000),
        network: random(4),
        isFamiliar: random(5) === 0,
      })),
    }),
    'label.set': () => ({
      kind: 'label.set',
      customer: customer(),
      decision: { requestId: pick(requestIds), fingerprintHash: fingerprint(), publicKey: random(5) === 0 },
      label: pick(['fraud', 'legitimate'] as const),
      note: null,
      judging: judging(),
    }),
    'review.judged': () => ({
      kind: 'review.judged',
      customer: customer(),
      requestId: pick(requestIds),
      verdict: pick(['fraud', 'legitimate', 'unsure'] as const),
      judging: judging(),
    }),
    'review.changed': () => ({
      kind: 'review.changed',
      customer: customer(),
      requestId: pick(requestIds),
      change: pick([{ assignee: 'anna' }, { note: null, closed: true }, { closed: false }]),
      waiting: random(3) === 0 ? review() : null,
    }),
    'reviews.queued': () => ({
      kind: 'reviews.queued',
      customer: customer(),
      rows: Array.from({ length: 1 + random(4) }, review),
    }),
    'webhook.created': () => {
      const created = webhook();
      webhooks.push(created);
      return { kind: 'webhook.created', webhook: created, sealed: sealed() };
    },
    'webhook.changed': () => {
      const { customer: of, id } = known();
      return { kind: 'webhook.changed', customer: of, id, change: { disabled: random(2) === 0 } };
    },
    'webhook.removed': () => ({ kind: 'webhook.removed', customer: known().customer, id: known().id }),
    'webhook.rotated': () => {
      const { customer: of, id } = known();
      return { kind: 'webhook.rotated', customer: of, id, sealed: sealed(), replaces: sealed() };
    },
    'webhook.health': () => {
      const { customer: of, id } = known();
      const status = pick(['healthy', 'unhealthy'] as const);
      return { kind: 'webhook.health', changed: [{ customer: of, id, health: { ...HEALTHY, status } }] };
    },
    'rule.put': () => ({ kind: 'rule.put', customer: customer(), rule: ownRule(), ifMatch: pick([null, null, ['*']]) }),
    'rule.removed': () => ({
      kind: 'rule.removed',
      customer: customer(),
      code: `own_${random(6)}`,
      ifMatch: pick([null, ['*'], ['x']]),
    }),
    'named_list.put': () => ({
      kind: 'named_list.put',
      customer: customer(),
      name: `list_${random(3)}`,
      listKind: pick(['text', 'network', 'email'] as const),
      note: pick([null, 'a note']),
    }),
    'named_list.items': () => ({
      kind: 'named_list.items',
      customer: customer(),
      name: `list_${random(3)}`,
      number: 1 + random(8),
      items: Array.from({ length: 1 + random(random(8) === 0 ? 150 : 5) }, () => ({
        key: hashOf(random(30)),
        value: pick([null, 'a value']),
        expiresAtSeconds: pick([null, Math.floor(nowMs / 1000) + random(200) - 50]),
        isRemoved: random(3) === 0,
      })),
      ...(random(8) > 0 && { writeId: `write ${random(4)}` }),
    }),
    'named_list.removed': () => ({ kind: 'named_list.removed', customer: customer(), name: `list_${random(3)}` }),
    'watch.created': () => ({ kind: 'watch.created', watch: watch() }),
    'watch.changed': () => ({
      kind: 'watch.changed',
      customer: customer(),
      id: pick(watchIds),
      change: { isPaused: random(2) === 0 },
      resets: random(8) === 0,
    }),
    'watch.removed': () => ({ kind: 'watch.removed', customer: customer(), id: pick(watchIds) }),
    'watch.begun': () => ({
      kind: 'watch.begun',
      customer: customer(),
      id: pick(watchIds),
      run: 1 + random(3),
      dueAtMs: pick([null, nowMs]),
      missed: random(3),
      nextDueAtMs: nowMs + 300_000,
      node: pick([null, 'one']),
    }),
    'watch.taken': () => ({
      kind: 'watch.taken',
      customer: customer(),
      id: pick(watchIds),
      run: 1 + random(3),
      from: pick([null, 'one']),
      node: 'two',
      job: pick([null, 'ext_1']),
    }),
    'watch.compared': () => ({
      kind: 'watch.compared',
      customer: customer(),
      id: pick(watchIds),
      run: 1 + random(3),
      findings: Array.from({ length: 1 + random(5) }, () => ({
        keyHash: hashOf(random(9)).slice(0, 32),
        record:
          random(4) === 0
            ? null
            : {
                hash: hashOf(random(3)).slice(0, 32),
                keyJson: '{"id":1}',
                valuesJson: '{}',
                recordJson: pick([null, '{}']),
              },
      })),
    }),
    'watch.ended': () => ({
      kind: 'watch.ended',
      customer: customer(),
      id: pick(watchIds),
      run: 1 + random(3),
      end: {
        failure: pick([null, 'timeout' as const]),
        isComplete: random(2) === 0,
        notes: [],
        records: random(9),
        ...(random(2) === 0 && { drift: { drifted: ['price'], nullShares: { price: 0.1, title: random(2) } } }),
      },
    }),
    'rows.expired': () => ({
      kind: 'rows.expired',
      ...(random(2) === 0
        ? { table: 'lists', keys: [listKey(customer(), fingerprint())] }
        : random(2) === 0
          ? { table: 'namedListItems', keys: [namedItemKey(customer(), 1 + random(8), hashOf(random(30)))] }
          : random(2) === 0
            ? {
                table: 'namedListVersions',
                keys: [partKeyOf({ customer: customer(), list: 1 + random(8), version: 1 + random(6), part: 0 })],
              }
            : { table: 'sightings', keys: [sightingKey(fingerprint(), customer())] }),
    }),
  };
  const ownRule = (): OwnRule => ({
    code: `own_${random(6)}`,
    when: `score > ${random(100)}`,
    weight: 0.5,
    decision: null,
    mode: pick(['observe', 'enforce'] as const),
    eventTypes: pick([null, ['login']]),
    note: '',
    expiresAtSeconds: null,
  });
  const kinds = Object.keys(make) as ChangeKind[];
  for (;;) {
    nowMs += 1 + random(20_000);
    const origin = { by: 'service', nowMs: nowMs - random(60_000) } as const;
    yield { change: make[pick(kinds)](), origin };
  }
}
