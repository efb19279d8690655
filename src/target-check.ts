import { egressPolicy, type EgressPolicy, judgeAddress, type ListeningAddress } from './egress/address.ts';
import { checkTarget, readTarget, type TargetFault } from './egress/target.ts';

/** The addresses for which a local name may stand. */
const LOOPBACK = ['127.0.0.1', '::1'] as const;
const LOCAL_NAME = /^(?:.+\.)?localhost\.?$/;
const OWN_NAME: TargetFault = { code: 'blocked_url', detail: 'The host is this service itself.' };

/**
 * What a URL that a customer gives is checked by before anything is called: what the operator allows, and where this service listens.
 * `listening` is asked at each check, because a start checks nothing before it listens. Names are not looked up here, but for those
 * that stand for this machine everywhere; what others lead to is checked when they are dialled.
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

/** Of a local name none of whose addresses may be dialled at this port. */
function localFault(url: string, policy: EgressPolicy): TargetFault | null {
  const target = readTarget(url);
  if (target === null || !LOCAL_NAME.test(target.host)) return null;
  const isBlocked = LOOPBACK.every((address) => judgeAddress(address, target.port, policy).kind === 'blocked');
  return isBlocked ? OWN_NAME : null;
}
