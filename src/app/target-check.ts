import { egressPolicy, type EgressPolicy, judgeAddress, type ListeningAddress } from '../egress/public-address.ts';
import { checkTarget, readTarget, type TargetFault } from '../egress/egress-target.ts';

/** The addresses that a local name may resolve to. */
const LOOPBACK = ['127.0.0.1', '::1'] as const;
const LOCAL_NAME = /^(?:.+\.)?localhost\.?$/;
const OWN_NAME: TargetFault = { code: 'blocked_url', detail: 'The host is this service itself.' };

/**
 * Creates the check of URLs given by customers, applied before anything is requested: against the operator's allow list, and against this
 * service's own addresses. Calls `listening` at each check, because these addresses are known only once the service listens; no URL is
 * checked before. Resolves no names except those that denote this machine everywhere; the addresses of other names are checked at
 * connection time.
 */
export function createTargetCheck(
  allow: readonly string[],
  listening: () => readonly ListeningAddress[],
): (url: string) => TargetFault | null {
  const { allowed } = egressPolicy(allow);
  return (url) => {
    const policy: EgressPolicy = { allowed, own: listening() };
    return checkTarget(url, policy) ?? localFault(url, policy);
  };
}

/** Returns a fault for a local name if none of its addresses may be dialled at this port. */
function localFault(url: string, policy: EgressPolicy): TargetFault | null {
  const target = readTarget(url);
  if (target === null || !LOCAL_NAME.test(target.host)) return null;
  const isBlocked = LOOPBACK.every((address) => judgeAddress(address, target.port, policy).kind === 'blocked');
  return isBlocked ? OWN_NAME : null;
}
