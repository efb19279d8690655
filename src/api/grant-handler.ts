import { randomBytes } from 'node:crypto';
import type { Clock } from '../kernel/clock.ts';
import { newId } from '../kernel/ids.ts';
import { GRANT_BODY_BYTES_MAX } from '../kernel/limits.ts';
import type { Key, KeyCache } from '../auth/key-cache.ts';
import { checkCredentialForm, checkKeyForm, verifyRequest } from '../auth/verify.ts';
import type { FailedAuthentications } from '../decide/failed-authentications.ts';
import { rateLimited } from '../decide/respond.ts';
import { rateFields } from '../decide/rate-fields.ts';
import type { SourceRate } from '../decide/source-rate.ts';
import type { VisitorSource } from '../decide/visitor-source.ts';
import { problem, type Problem } from '../contract/problem.ts';
import type { Exchange, Handler, RequestHead } from '../http/exchange.ts';
import { bodyTooLarge, JSON_FIELDS, sendProblem } from '../http/reply.ts';
import type { RateState } from '../ports/admission.ts';
import { type CollectorGrants, GRANT_RANDOM_BYTES } from '../risk/signals/collector-grant.ts';
import { readIp } from '../risk/signals/ip.ts';

export interface GrantParts {
  readonly clock: Clock;
  readonly keyCache: KeyCache;
  readonly failures: FailedAuthentications;
  /** Grants of each source address. */
  readonly rate: SourceRate;
  readonly visitorSource: VisitorSource;
  readonly grants: Pick<CollectorGrants, 'issue'>;
  readonly onRefused: (code: string) => void;
}

const ORIGIN_NEEDED: Problem = problem('origin_not_allowed', 'The public key does not allow scripts of this origin.');
const PUBLIC_NEEDED: Problem = problem(
  'key_not_allowed',
  'Grants are for public keys; a page must not have a secret key.',
);

/**
 * `POST /v1/collector/grant`: issues a grant to a page. The public key in `X-SVC-Key` is enough, since everybody may know it and a
 * signature would prove nothing; a signature that is present must verify. A grant stores nothing, so a repeated request id is no replay.
 * Source: contract, 17.2.
 */
export function grantHandler(parts: GrantParts): Handler {
  const { clock, keyCache, failures, rate, visitorSource, grants, onRefused } = parts;
  const nowSeconds = (): number => Math.floor(clock.nowMs() / 1_000);

  return (head, exchange) => {
    const formFault = head.svcSignature === '' ? checkKeyForm(head) : checkCredentialForm(head);
    if (formFault !== null) refuseUnverified(exchange, formFault, head.contentLength > 0);
    else {
      exchange.readBody(GRANT_BODY_BYTES_MAX, (body) => {
        if (body === null) refuse(exchange, bodyTooLarge(GRANT_BODY_BYTES_MAX), sourceRate(exchange), true);
        else verify(head, body, exchange);
      });
    }
  };

  function verify(head: RequestHead, body: Uint8Array, exchange: Exchange): void {
    const verified = head.svcSignature === '' ? null : verifyRequest(head, body, keyCache, clock);
    if (verified?.kind === 'refused') {
      refuseUnverified(exchange, verified.problem);
      return;
    }
    const { known, key } = keyCache.find(head.svcKey);
    if (!known) refuseUnverified(exchange, problem('unknown_key', 'This API key is not known.'));
    else issue(head, exchange, key);
  }

  function issue(head: RequestHead, exchange: Exchange, key: Key): void {
    const address = exchange.remoteAddress();
    // Behind a proxy that names no client, one address stands for everybody: it is neither counted nor bound.
    const isVisitor = visitorSource(address) !== null;
    const now = nowSeconds();
    const state = isVisitor ? rate.take(address, now) : { ...rate.peek('', now), allowed: true };
    const origin = head.cold.get('origin');
    if (key.kind !== 'public') refuse(exchange, PUBLIC_NEEDED, state);
    else if (origin === '' || keyCache.allowOrigin(head.svcKey, origin) === null)
      refuse(exchange, ORIGIN_NEEDED, state);
    else if (!state.allowed) refuse(exchange, rateLimited(state), state);
    else {
      const { grant, nonce, expiresAtSeconds } = grants.issue({
        customer: key.customer,
        origin,
        ip: isVisitor ? readIp(address) : null,
        nowSeconds: now,
        random: randomBytes(GRANT_RANDOM_BYTES),
      });
      const answer = JSON.stringify({ grant, nonce, expires_at: expiresAtSeconds });
      exchange.send(200, JSON_FIELDS + rateFields(state), answer);
    }
  }

  /** Counts a failed authentication against its source address. Over that allowance the response is 429 and closes the connection. */
  function refuseUnverified(exchange: Exchange, fault: Problem, close = false): void {
    const source = failures.take(exchange.remoteAddress(), nowSeconds());
    refuse(exchange, source.allowed ? fault : rateLimited(source), source, close || !source.allowed);
  }

  function refuse(exchange: Exchange, fault: Problem, state: RateState, close = false): void {
    onRefused(fault.code);
    sendProblem(exchange, fault, { more: rateFields(state), close, requestId: newId('req', clock.nowMs()) });
  }

  function sourceRate(exchange: Exchange): RateState {
    return failures.peek(exchange.remoteAddress(), nowSeconds());
  }
}
