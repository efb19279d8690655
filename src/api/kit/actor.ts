import type { Origin } from '../../ports/change-feed.ts';
import type { AnyRequest } from './endpoint-types.ts';

/** Returns the origin of the changes that a call makes: its key and the service's time. */
export function originOf({ caller, nowMs }: Pick<AnyRequest, 'caller' | 'nowMs'>): Origin {
  return { by: `key:${caller.key.prefix}`, nowMs };
}
