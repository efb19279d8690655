import type { Origin } from '../../ports/change-feed.ts';
import type { AnyRequest } from './endpoint-types.ts';

/** Returns the origin of the changes that a call makes: its key, with the dashboard session if it came by one, and the service's time. */
export function originOf({ caller, nowMs }: Pick<AnyRequest, 'caller' | 'nowMs'>): Origin {
  const { key, session } = caller;
  return { by: session === undefined ? `key:${key.prefix}` : `key:${key.prefix}/${session}`, nowMs };
}
