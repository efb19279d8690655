import type { ListAction } from '../decision.ts';
import type { Family } from '../rules/family.ts';
import type { ListFacts } from './list-facts.ts';
import { isIdentityKind, isPersonKind, type ListKind } from './list-kind.ts';

/** An entry that names something of a request. */
export interface ListMatch {
  readonly kind: ListKind;
  readonly action: ListAction;
  /** The value as evidence shows it; empty for identities, which it never shows. */
  readonly shown: string;
}

/** An allowed person or device: other customers' evidence is dropped. */
const BY_ALLOW: readonly Family[] = ['registry'];
/** An identity that is only claimed: what an address is says nothing against it. Rules about automation and stuffing still decide. */
const BY_CLAIM: readonly Family[] = ['registry', 'network'];
/** An allowed network: rules about addresses and about populations. */
const BY_NETWORK: readonly Family[] = ['network', 'ip_volume', 'population'];
const BY_BOTH: readonly Family[] = ['registry', 'network', 'ip_volume', 'population'];

/** Event types whose identities anybody can claim. */
const CLAIMING: ReadonlySet<string> = new Set(['login', 'signup']);

/**
 * Combines the entries that name a request, in any order. `matches` has at most one entry of the kinds of an address (`ip`, `network`,
 * `asn`, `country`): the most specific; the same for each e-mail's domain and for the user agent. Returns null if none of them counts.
 * Source: contract, 7.2.
 */
export function decideByLists(
  matches: readonly ListMatch[],
  { eventType, isPublicKey }: { readonly eventType: string; readonly isPublicKey: boolean },
): ListFacts | null {
  let device: ListMatch | null = null;
  let identity: ListMatch | null = null;
  let blockedNetwork: ListMatch | null = null;
  let allowedNetwork: ListMatch | null = null;
  for (const match of matches) {
    const { kind, action } = match;
    if (action === 'watch') continue;
    if (isPersonKind(kind)) {
      if (action === 'block') return { decides: 'block', silenced: [], evidence: evidenceOf(match) };
      if (isIdentityKind(kind)) identity ??= match;
      else device ??= match;
    } else if (action === 'block') blockedNetwork ??= match;
    else allowedNetwork ??= match;
  }
  const isClaimed = isPublicKey || CLAIMING.has(eventType);
  const allowed = device ?? (isClaimed ? null : identity);
  if (allowed !== null) return { decides: 'allow', silenced: BY_ALLOW, evidence: evidenceOf(allowed) };
  if (identity === null && blockedNetwork !== null)
    return { decides: 'block', silenced: [], evidence: evidenceOf(blockedNetwork) };
  if (identity !== null)
    return { decides: null, silenced: allowedNetwork === null ? BY_CLAIM : BY_BOTH, evidence: evidenceOf(identity) };
  if (allowedNetwork === null) return null;
  return { decides: null, silenced: BY_NETWORK, evidence: evidenceOf(allowedNetwork) };
}

function evidenceOf({ kind, shown }: ListMatch): string {
  return shown === '' ? kind : `${kind} ${shown}`;
}
