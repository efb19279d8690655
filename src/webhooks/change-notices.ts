import type { CustomerNumber } from '../kernel/brand.ts';
import type { Notice } from '../work/notice.ts';
import type { Change, ChangeKind, ChangeOf, OutcomeOf } from '../state/feed/changes.ts';

/** A notice of a change that was made, and whose it is. */
export interface ChangeNotice {
  readonly customer: CustomerNumber;
  readonly notice: Notice;
}

type NoticeWriters = {
  readonly [Kind in ChangeKind]?: (change: ChangeOf<Kind>, outcome: OutcomeOf<Kind>) => ChangeNotice | null;
};

/** The changes that are notices. */
const WRITERS: NoticeWriters = {
  'review.judged'({ customer, requestId, verdict }, row) {
    if (row === null) return null;
    const { decision, score } = row;
    return noticed(customer, 'review.verdict', { verdict, decision, score }, requestId);
  },
  'label.set': ({ customer, label, decision }) => noticed(customer, 'label.created', { label }, decision.requestId),
  'rule.put'({ customer, rule, tripped }, { kind }) {
    if (tripped === undefined || kind !== 'replaced') return null;
    return noticed(customer, 'rule.tripped', { rule: rule.code, ...tripped });
  },
  'list.put'({ customer, entry: { kind = 'fingerprint', action } }, outcome) {
    return outcome === 'limit_reached' ? null : listChanged(customer, { kind, action, added: 1 });
  },
  'list.batch': ({ customer, entries }, outcome) =>
    outcome === 'limit_reached' ? null : listChanged(customer, { added: entries.length }),
  'list.removed': ({ customer }, existed) =>
    existed ? listChanged(customer, { change: 'removed', removed: 1 }) : null,
  'named_list.put': ({ customer, name, listKind }, { kind }) =>
    kind === 'created' ? listChanged(customer, { list: name, kind: listKind }) : null,
  'named_list.items'({ customer, name }, counts) {
    if (typeof counts === 'string' || counts.added + counts.removed === 0) return null;
    return listChanged(customer, { list: name, change: 'items', ...counts });
  },
  'watch.ended'({ customer, id, run }, counts) {
    if (counts === null || counts.new + counts.changed + counts.gone === 0) return null;
    return noticed(customer, 'watch.changes', { watch_id: id, run, ...counts });
  },
  'named_list.removed': ({ customer, name }, existed) =>
    existed ? listChanged(customer, { list: name, change: 'removed' }) : null,
};

/** `outcome` is that of the change. Null for a change that changed nothing, or that no webhook may subscribe to. */
export function noticeOfChange(change: Change, outcome: unknown): ChangeNotice | null {
  const write = WRITERS[change.kind] as ((change: Change, outcome: unknown) => ChangeNotice | null) | undefined;
  return write?.(change, outcome) ?? null;
}

/** `list`: null for the customer's own block, allow and watch entries. `kind` and `action`: null where entries differ or have none. */
function listChanged(customer: CustomerNumber, fields: Notice['fields']): ChangeNotice {
  const all = { list: null, kind: null, change: 'put', action: null, added: 0, removed: 0, ...fields };
  return noticed(customer, 'list.changed', all);
}

function noticed(
  customer: CustomerNumber,
  event: Notice['event'],
  fields: Notice['fields'],
  requestId: string | null = null,
): ChangeNotice {
  return { customer, notice: { event, requestId, fields } };
}
