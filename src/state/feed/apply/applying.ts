import type { Actor } from '../../../ports/change-feed.ts';
import type { ChangeKind, ChangeOf, OutcomeOf } from '../changes.ts';
import type { StateBounds, StateTables } from '../../tables/state-tables.ts';

/** What the functions of this folder work on: the tables, inside a write transaction, and who makes the change when. */
export interface Applying {
  readonly tables: StateTables;
  readonly bounds: StateBounds;
  readonly by: Actor;
  readonly nowMs: number;
  readonly nowSeconds: number;
}

/** Applies one kind of change. It must read and check before its first put, because what it wrote before an exception stays. */
export type Apply<Kind extends ChangeKind> = (at: Applying, change: ChangeOf<Kind>) => OutcomeOf<Kind>;
