import { expect, test } from 'vitest';
import { numberedId, ReplayEngine } from '../../../src/replay/replay-engine.ts';
import { ListKeys } from '../../../src/risk/lists/list-key.ts';
import { compilePolicies, DEFAULT_DOCUMENT } from '../../../src/risk/policy/policy-set.ts';
import { createSources } from '../../../src/score/sources.ts';
import { customer, tempStore, value } from '../state/support.ts';

const SECRET = Buffer.alloc(32, 5);
const OF = customer(1);

test('A replay reads the named lists of the customer, as a score worker does', async () => {
  const store = tempStore();
  const origin = { by: 'service', nowMs: 10_000 } as const;
  const list = {
    kind: 'named_list.put',
    customer: OF,
    name: 'partners',
    listKind: 'email_domain',
    note: null,
  } as const;
  await value(store.changes.commit(list, origin));
  const { number = 0 } = store.namedLists.find(OF, 'partners') ?? {};
  const key = new ListKeys(SECRET).namedKeyOf(OF, { kind: 'email_domain', value: 'partner.example' });
  const items = [{ key, value: 'partner.example', expiresAtSeconds: null, isRemoved: false }];
  await value(
    store.changes.commit({ kind: 'named_list.items', customer: OF, name: 'partners', number, items }, origin),
  );
  const rule = {
    code: 'own_partner',
    when: 'email.domain in list.partners',
    weight: null,
    decision: 'BLOCK' as const,
    mode: 'enforce' as const,
    eventTypes: null,
    note: '',
    expiresAtSeconds: null,
  };
  const geo = { lookup: () => null, epoch: () => 0, crawlers: () => new Set<string>() };
  const secrets = { links: SECRET, requests: SECRET, grants: SECRET, lists: SECRET, velocity: SECRET.subarray(0, 16) };
  const decisionsBy = async (
    sources: ReturnType<typeof createSources>['sources'] | null,
  ): Promise<readonly unknown[]> => {
    const policies = compilePolicies(DEFAULT_DOCUMENT, () => null, new Map([[OF, [rule]]]));
    const engine = new ReplayEngine({ policies, geo, sources, velocityBytes: 2 ** 22, keys: secrets });
    const requests = ['a@mail.partner.example', 'b@other.example'].map((email, n) => ({
      customer: OF,
      atMs: 1_795_262_400_000 + n * 60_000,
      body: Buffer.from(JSON.stringify({ session_token: `t${n}`, event_type: 'login', entity_keys: { email } })),
      publicKey: false,
      requestId: numberedId(n),
      originHash: 0,
    }));
    const replayed = await engine.decide(requests);
    return replayed.map(
      (one) => one.kind === 'decided' && one.record.contributions.some(({ code }) => code === 'own_partner'),
    );
  };
  expect(await decisionsBy(createSources(store, geo).sources)).toEqual([true, false]);
  expect(await decisionsBy(null)).toEqual([false, false]);
});
