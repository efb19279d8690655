import type { CustomerNumber } from '../../kernel/brand.ts';
import type { ListKeys } from '../../risk/lists/list-key.ts';
import { isHiddenValue, isIdentityKind, type ListTarget } from '../../risk/lists/list-kind.ts';
import { isHiddenNamedValue, type NamedListValue, namesPersons } from '../../risk/lists/named-list.ts';
import type { NamedItemChange } from './named-list-table.ts';
import type { ListEntryChange } from './list-table.ts';

/** An entry as it was given; its key needs the customer. */
export interface GivenListEntry extends Pick<ListEntryChange, 'action' | 'note' | 'expiresAtSeconds'> {
  readonly target: ListTarget;
  readonly eventTypes: readonly string[];
}

/** `keepsIdentities`: whether values that name a person may be stored as they are. */
export function listChangeOf(
  keys: ListKeys,
  customer: CustomerNumber,
  { target, action, note, expiresAtSeconds, eventTypes }: GivenListEntry,
  keepsIdentities: boolean,
): ListEntryChange {
  const isKept = !isIdentityKind(target.kind) || (keepsIdentities && !isHiddenValue(target));
  return {
    fingerprintHash: keys.keyOf(customer, target),
    action,
    note,
    expiresAtSeconds,
    ...(target.kind !== 'fingerprint' && { kind: target.kind, value: isKept ? target.value : null }),
    ...(eventTypes.length > 0 && { eventTypes }),
  };
}

/** Returns the change that adds or removes an item of a named list. `keepsIdentities`: as above. */
export function namedItemOf(
  keys: ListKeys,
  customer: CustomerNumber,
  target: NamedListValue,
  given: Pick<NamedItemChange, 'expiresAtSeconds' | 'isRemoved'>,
  keepsIdentities: boolean,
): NamedItemChange {
  const { kind, value } = target;
  const isHash = kind === 'fingerprint' || kind === 'browser';
  const isKept = !isHash && (!namesPersons(kind) || (keepsIdentities && !isHiddenNamedValue(target)));
  return { key: keys.namedKeyOf(customer, target), value: isKept ? value : null, ...given };
}
