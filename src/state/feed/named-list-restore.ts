import type { CustomerNumber } from '../../kernel/brand.ts';
import type { VersionLoss } from '../../kernel/version-loss.ts';
import type { Origin } from '../../ports/change-feed.ts';
import type { StoreFault } from '../tables/durable.ts';
import type { NamedItemChange } from '../tables/named-list-table.ts';
import { lossOf, type NamedListVersions, type ReplacedItem } from '../tables/named-list-versions-table.ts';
import type { Slices } from '../tables/turns.ts';
import type { Committer } from './changes.ts';

/** A version of a named list to bring back. */
export interface VersionToRestore {
  readonly customer: CustomerNumber;
  readonly name: string;
  /** The list's number. */
  readonly number: number;
  readonly version: number;
}

/** `unknown`: there is no such list or version, or not any more. */
export type RestoredVersion =
  | { readonly kind: 'restored' | 'unknown' | 'limit_reached' }
  | { readonly kind: 'lost'; readonly loss: VersionLoss }
  | StoreFault;

/** Choice: as a call of items is written; also the size of most parts. */
const ITEMS_PER_CHANGE = 100;

/**
 * Brings a list back to what it was before a write, by changes of items like any others: undoes the newest part of the newest write first.
 * Its changes make one version. After an interruption the same call completes it: what its first part brought back is in what is undone.
 */
export async function restoreNamedList(
  { versions, changes }: { readonly versions: NamedListVersions; readonly changes: Committer },
  { customer, name, number, version }: VersionToRestore,
  origin: Origin,
  slices: Slices,
): Promise<RestoredVersion> {
  const history = versions.of(customer, number);
  const wanted = history.versions.find((one) => one.version === version);
  if (wanted === undefined) return { kind: 'unknown' };
  const loss = lossOf(history, wanted);
  if (loss !== null) return { kind: 'lost', loss };
  const writeId = `restore ${version}`;
  const undone = history.versions.filter((one) => one.version >= version);
  const isContinued = undone.length > 1 && undone.at(-1)?.writeId === writeId;
  const writes = isContinued ? undone.slice(0, -1) : undone;
  const nowSeconds = Math.floor(origin.nowMs / 1_000);
  for (const write of writes.reverse()) {
    for (let part = write.parts - 1; part >= 0; part--) {
      const replaced = versions.part({ customer, list: number, version: write.version, part });
      // Other calls have written so often meanwhile that it is no longer kept.
      if (replaced === null) return { kind: 'unknown' };
      for (let from = 0; from < replaced.length; from += ITEMS_PER_CHANGE) {
        if (slices.isOver) await slices.begin();
        const items = replaced.slice(from, from + ITEMS_PER_CHANGE).map((item) => toChange(item, nowSeconds));
        const change = { kind: 'named_list.items', customer, name, number, items, writeId, restores: version } as const;
        const isLast = write.version === version && part === 0 && from + ITEMS_PER_CHANGE >= replaced.length;
        const written = await changes.commit(change, origin, { until: isLast ? 'durable' : 'visible', slices });
        if (written.kind === 'fault') return written;
        if (written.value === 'unknown' || written.value === 'limit_reached') return { kind: written.value };
      }
    }
  }
  return { kind: 'restored' };
}

/** What has ended since is removed. */
function toChange({ key, before }: ReplacedItem, nowSeconds: number): NamedItemChange {
  const isEnded = before !== null && before.expiresAtSeconds !== null && before.expiresAtSeconds <= nowSeconds;
  if (before === null || isEnded) return { key, value: null, expiresAtSeconds: null, isRemoved: true };
  return { key, ...before, isRemoved: false };
}
