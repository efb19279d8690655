import type { Exchange, RequestHead } from '../../http/exchange.ts';
import type { ColdHeader } from '../../kernel/cold-headers.ts';
import { type GatePath, readGatePath, withoutOrigin } from './gate-path.ts';

/** A visitor's request, as the proxy before the site describes it. */
export interface GateVisit {
  /** Upper case. */
  readonly method: string;
  /** Null if the proxy names none, is not trusted, or names two. */
  readonly path: GatePath | null;
  /** Null without a host and a path. */
  readonly url: string | null;
  readonly isSecure: boolean;
  readonly address: string;
  readonly userAgent: string;
  readonly referrer: string;
  /** The visitor's own headers that say something about its program, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** The signature of the request, as a decide request passes it; null without one, and without a host and a path. */
  readonly signature: Readonly<Record<string, string>> | null;
}

const VISITOR_HEADERS = ['accept', 'accept-language', 'accept-encoding'] as const satisfies readonly ColdHeader[];

/**
 * Reads what the proxy forwards: `X-Forwarded-Method`, `-Proto`, `-Host`, `-Uri` (Traefik, Caddy), `X-Original-Method`, `-URI`, `-URL`
 * (nginx). `isTrusted`: the peer is a trusted proxy; all others could write these headers, so then they are not read.
 */
export function readGateVisit(
  head: RequestHead,
  exchange: Pick<Exchange, 'remoteAddress'>,
  isTrusted: boolean,
): GateVisit {
  const given = (name: ColdHeader): string => head.cold.get(name);
  const forwarded = (...names: readonly ColdHeader[]): string =>
    isTrusted ? (names.map(given).find((value) => value !== '') ?? '') : '';
  const host = forwarded('x-forwarded-host');
  const proto = forwarded('x-forwarded-proto');
  const target = isTrusted ? targetOf(given) : null;
  const isNamed = target !== null && /^[\w.:[\]-]{1,260}$/.test(host);
  const method = forwarded('x-forwarded-method', 'x-original-method').toUpperCase();
  return {
    method,
    path: target === null ? null : readGatePath(target),
    url: isNamed ? `${proto === 'https' ? 'https' : 'http'}://${host}${target}` : null,
    isSecure: proto === 'https',
    address: exchange.remoteAddress(),
    userAgent: given('user-agent'),
    referrer: given('referer'),
    headers: Object.fromEntries(VISITOR_HEADERS.map((name) => [name, given(name)]).filter(([, value]) => value !== '')),
    signature: isNamed ? signatureOf(given, { method, authority: host, path: target }) : null,
  };
}

/** Source: contract, 4.9. */
function signatureOf(
  given: (name: ColdHeader) => string,
  request: Readonly<Record<'authority' | 'method' | 'path', string>>,
): GateVisit['signature'] {
  const fields = {
    signature_input: given('signature-input'),
    signature: given('signature'),
    signature_agent: given('signature-agent'),
  };
  return fields.signature_input === '' ? null : { ...fields, ...request };
}

/**
 * Returns the path and query that the visitor asked for. A proxy that sets one header may pass on another one that the visitor wrote, so
 * headers that differ name none.
 */
function targetOf(given: (name: ColdHeader) => string): string | null {
  const targets = [given('x-forwarded-uri'), given('x-original-uri'), withoutOrigin(given('x-original-url'))];
  const [first, ...others] = new Set(targets.filter((target) => target !== ''));
  return first === undefined || others.length > 0 ? null : first;
}

/** Returns the body of the decide request about a visit. */
export function gateBodyOf(visit: GateVisit, eventType: string, sessionToken: string): Buffer {
  const { address, userAgent, url, referrer, headers, signature } = visit;
  return Buffer.from(
    JSON.stringify({
      event_type: eventType,
      session_token: sessionToken,
      ip: address,
      user_agent: userAgent,
      ...(url !== null && { url }),
      ...(referrer !== '' && { referrer }),
      headers,
      ...(signature !== null && { http_signature: signature }),
    }),
  );
}
