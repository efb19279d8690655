import { problem, type Problem } from '../contract/problem.ts';
import type { Exchange } from '../http/exchange.ts';
import type { KeyScope } from '../kernel/key-scopes.ts';
import type { Key } from './key-cache.ts';

/** Returns why a verified key may not be used for this; null if it may. Costs nothing for a key without networks. */
export function accessFault(
  { scopes, networks }: Pick<Key, 'scopes' | 'networks'>,
  scope: KeyScope,
  exchange: Pick<Exchange, 'remoteAddress'>,
): Problem | null {
  if (!scopes.has(scope)) return problem('key_not_allowed', `This key does not have the scope ${scope}.`);
  if (networks === null || networks.has(exchange.remoteAddress())) return null;
  return problem('key_not_allowed', 'This key may not be used from this address.');
}
