import { expect, test } from 'vitest';
import { pack } from '../../../../src/kernel/pack.ts';
import type { OwnRule } from '../../../../src/risk/policy/own-rule.ts';
import { ensureUsable } from '../../../../src/state/repair/ensure-usable.ts';
import type { Store } from '../../../../src/state/feed/open-store.ts';
import { ruleTag } from '../../../../src/state/tables/own-rule-table.ts';
import { withSum } from '../../../../src/state/tables/value.ts';
import { freeSlices } from '../../../support/slices.ts';
import { boundedFeed } from '../../../support/writes.ts';
import { customer, open, tempFolder, tempStore, value } from '../support.ts';

const rule = (code: string, fields: Partial<OwnRule> = {}): OwnRule => ({
  code,
  when: 'score > 10',
  weight: 0.5,
  decision: null,
  mode: 'observe',
  eventTypes: null,
  note: '',
  expiresAtSeconds: null,
  ...fields,
});
const origin = (nowMs = 1_000) => ({ by: 'key:sk_live_test', nowMs }) as const;

function put(
  { changes }: Pick<Store, 'changes'>,
  number: number,
  written: OwnRule,
  { ifMatch = null, nowMs = 1_000 }: { readonly ifMatch?: readonly string[] | null; readonly nowMs?: number } = {},
) {
  return value(changes.commit({ kind: 'rule.put', customer: customer(number), rule: written, ifMatch }, origin(nowMs)));
}

function codesOf(store: Store, number: number): readonly string[] {
  return store.rules.of(customer(number)).rules.map(({ code }) => code);
}

test('A rule is created, then replaced, survives a restart, and belongs to its customer', async () => {
  const folder = tempFolder();
  const isUsable = async () =>
    (await ensureUsable({ dataDir: folder, simulated: false, repair: true, nowMs: 3_000 })).kind;
  expect(await isUsable()).toBe('ok');
  const store = open(folder);
  expect(await put(store, 1, rule('own_b'))).toMatchObject({ kind: 'created' });
  await put(store, 1, rule('own_a', { weight: null, decision: 'REVIEW', eventTypes: ['login'], note: 'ü' }));
  await put(store, 2, rule('own_c'));
  expect(await put(store, 1, rule('own_b', { mode: 'enforce' }), { nowMs: 2_000 })).toEqual({
    kind: 'replaced',
    rule: { ...rule('own_b', { mode: 'enforce' }), createdAtMs: 1_000, updatedAtMs: 2_000, sinceMs: 2_000 },
  });
  await store.close();
  expect(await isUsable()).toBe('ok');
  const again = open(folder);
  expect(codesOf(again, 1)).toEqual(['own_a', 'own_b']);
  expect(again.rules.find(customer(1), 'own_a')).toMatchObject({
    decision: 'REVIEW',
    eventTypes: ['login'],
    note: 'ü',
  });
  expect(again.rules.find(customer(2), 'own_a')).toBeNull();
  expect(again.rules.customers()).toEqual([1, 2]);
  await again.close();
});

test('A customer has at most as many rules as the bound says, and replacing one needs no room', async () => {
  const store = tempStore();
  const changes = boundedFeed(store, { rules: 2 });
  await put({ changes }, 1, rule('own_a'));
  await put({ changes }, 1, rule('own_b'));
  expect(await put({ changes }, 1, rule('own_c'))).toEqual({ kind: 'limit_reached' });
  expect(await put({ changes }, 1, rule('own_a', { weight: 0.1 }))).toMatchObject({ kind: 'replaced' });
  expect(await put({ changes }, 2, rule('own_c'))).toMatchObject({ kind: 'created' });
});

test('A rule with another tag is neither replaced nor removed', async () => {
  const store = tempStore();
  const made = await put(store, 1, rule('own_a'));
  const tag = made.kind === 'created' ? ruleTag(made.rule) : '';
  const remove = (ifMatch: readonly string[] | null) =>
    value(store.changes.commit({ kind: 'rule.removed', customer: customer(1), code: 'own_a', ifMatch }, origin()));
  expect(await put(store, 1, rule('own_b'), { ifMatch: ['*'] })).toEqual({ kind: 'stale' });
  expect(await put(store, 1, rule('own_a', { weight: 0.9 }), { ifMatch: [tag] })).toMatchObject({ kind: 'replaced' });
  expect(await put(store, 1, rule('own_a'), { ifMatch: [tag] })).toEqual({ kind: 'stale' });
  expect(await remove([tag])).toBe('stale');
  expect(await remove(['*'])).toBe('removed');
  expect(await remove(null)).toBe('unknown');
});

test('The audit log has each write of a rule, without its note', async () => {
  const store = tempStore();
  await put(store, 1, rule('own_a', { note: 'private' }));
  await value(
    store.changes.commit({ kind: 'rule.removed', customer: customer(1), code: 'own_a', ifMatch: null }, origin()),
  );
  const all = { after: null, limit: 10, kind: null, sinceMs: null, untilMs: null };
  const { entries: rows } = await store.audit.page(customer(1), all, freeSlices());
  expect(rows.map(({ kind, target }) => [kind, target])).toEqual([
    ['rule.removed', 'own_a'],
    ['rule.put', 'own_a'],
  ]);
  expect(rows[1]?.after).toMatchObject({ when: 'score > 10', mode: 'observe' });
  expect(JSON.stringify(rows)).not.toContain('private');
});

test.each<readonly [string, unknown]>([
  ['bytes that are no rule', 'x'],
  ['a weight that is no number', { ...rule('own_z'), weight: Number.NaN, createdAtMs: 1, updatedAtMs: 1 }],
  ['a weight and a decision', { ...rule('own_z'), decision: 'BLOCK', createdAtMs: 1, updatedAtMs: 1 }],
  ['an unknown mode', { ...rule('own_z'), mode: 'on', createdAtMs: 1, updatedAtMs: 1 }],
])('A row with %s is skipped and counted', async (_what, stored) => {
  const store = tempStore();
  await put(store, 1, rule('own_a'));
  const key = Buffer.alloc(44);
  key.writeUInt32BE(1, 0);
  key.write('z', 4);
  await store.state
    .openDB({ name: 'rules', encoding: 'binary', keyEncoding: 'binary' })
    .put(key, withSum(key, Buffer.concat([Buffer.from([1]), pack([stored])])));
  store.resetRead();
  expect(store.rules.of(customer(1))).toMatchObject({ rules: [{ code: 'own_a' }], unreadable: 1 });
  expect(store.rules.find(customer(1), 'own_z')).toBeNull();
});
