import type { CustomerNumber } from '../kernel/brand.ts';
import type { Notice } from '../work/notice.ts';
import type { Change, OutcomeOf } from '../state/feed/changes.ts';

/** A notice of a change that was made, and whose it is. */
export interface ChangeNotice {
  readonly customer: CustomerNumber;
  readonly notice: Notice;
}

/** `outcome` is that of the change. Null for a change that changed nothing, or that no webhook may subscribe to. */
export function noticeOfChange(change: Change, outcome: unknown): ChangeNotice | null {
  switch (change.kind) {
    case 'review.judged': {
      const row = outcome as OutcomeOf<'review.judged'>;
      if (row === null) return null;
      const fields = { verdict: change.verdict, decision: row.decision, score: row.score };
      return noticed(change.customer, 'review.verdict', fields, change.requestId);
    }
    case 'label.set':
      return noticed(change.customer, 'label.created', { label: change.label }, change.decision.requestId);
    case 'rule.put': {
      if (change.tripped === undefined || (outcome as OutcomeOf<'rule.put'>).kind !== 'replaced') return null;
      return noticed(change.customer, 'rule.tripped', { rule: change.rule.code, ...change.tripped });
    }
    default:
      return listNotice(change, outcome);
  }
}

function listNotice(change: Change, outcome: unknown): ChangeNotice | null {
  switch (change.kind) {
    case 'list.put': {
      if (outcome === 'limit_reached') return null;
      const { kind = 'fingerprint', action } = change.entry;
      return listChanged(change.customer, { kind, change: 'put', action, added: 1 });
    }
    case 'list.batch':
      if (outcome === 'limit_reached') return null;
      return listChanged(change.customer, { change: 'put', added: change.entries.length });
    case 'list.removed':
      return outcome === true ? listChanged(change.customer, { change: 'removed', removed: 1 }) : null;
    case 'named_list.put': {
      const { kind } = outcome as OutcomeOf<'named_list.put'>;
      if (kind !== 'created') return null;
      return listChanged(change.customer, { list: change.name, kind: change.listKind, change: 'put' });
    }
    case 'named_list.items': {
      const counts = outcome as OutcomeOf<'named_list.items'>;
      if (typeof counts === 'string' || counts.added + counts.removed === 0) return null;
      return listChanged(change.customer, { list: change.name, change: 'items', ...counts });
    }
    case 'named_list.removed':
      return outcome === true ? listChanged(change.customer, { list: change.name, change: 'removed' }) : null;
    default:
      return null;
  }
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
