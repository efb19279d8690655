import { problem } from '../../contract/problem.ts';
import type { RequestParts } from '../../extract/request/read-request.ts';
import type { CustomerNumber } from '../../kernel/brand.ts';
import type { Committer } from '../../state/feed/changes.ts';
import type { Watches } from '../../state/tables/watch-table.ts';
import type { Watch } from '../../work/watch.ts';
import type { AnyRequest, EndpointResponse } from '../kit/endpoint-types.ts';
import type { Cursors } from '../kit/paging.ts';

/** Dependencies of the endpoints of watches. Source: contract, 11.7. */
export interface WatchHandlerParts {
  readonly watches: Watches;
  readonly changes: Committer;
  readonly request: RequestParts;
  readonly cursors: Cursors;
  /** Makes the next reads see what was committed. */
  resetRead(): void;
  isSuspended(customer: CustomerNumber): boolean;
  /** Real time, Unix ms: watches run by it, as extractions do. */
  nowMs(): number;
}

/** Returns null for another customer's watch too. */
export function watchOf(
  { caller, params }: Pick<AnyRequest, 'caller' | 'params'>,
  { watches }: Pick<WatchHandlerParts, 'watches'>,
): Watch | null {
  return watches.find(caller.customer, params['id'] ?? '');
}

export const WATCH_NOT_FOUND = {
  kind: 'problem',
  problem: problem('not_found', 'There is no such watch.'),
} as const satisfies EndpointResponse;
