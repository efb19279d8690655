import { randomUUID } from 'node:crypto';
import { isLoopback } from '../../app/settings.ts';
import { messageOf } from '../../state/tables/durable.ts';
import { signRequest } from '../../client/sign.ts';
import type { Health } from '../health-request.ts';
import { failed, fine, type DoctorFinding, warned } from './finding.ts';

/** What a running server says of itself, and what stands before it. */

export function layerFindings(health: Health): readonly DoctorFinding[] {
  if (health.kind === 'unreachable') return [];
  const troubled = Object.entries(health.report.layers).filter(([, { state }]) => state === 'broken');
  if (troubled.length === 0) return [fine('layers', `${Object.keys(health.report.layers).length} layers, none broken`)];
  return troubled.map(([name, { detail = '' }]) =>
    failed('layers', `${name} is broken${detail && `: ${detail}`}`, 'see docs/operating.md, health and readiness'),
  );
}

/** An address reserved for documentation, which no client has. */
const FORGED_ADDRESS = '198.51.100.77';
const CALL_MS_MAX = 5_000;

/**
 * Calls the service under the address that clients use, once with an invented `X-Forwarded-For`, and compares which source address the
 * service takes each call for.
 */
export async function proxyFinding(publicUrl: string | null, own: string): Promise<DoctorFinding> {
  if (publicUrl === null) {
    return fine('proxy', 'not checked: name the address that clients use by --url https://…');
  }
  const origin = new URL(publicUrl).origin;
  if (origin === own) return fine('proxy', `${origin} is the server itself, without a proxy`);
  try {
    const plain = await sourceOf(origin, {});
    const forged = await sourceOf(origin, { 'x-forwarded-for': FORGED_ADDRESS });
    if (forged === FORGED_ADDRESS) {
      const todo =
        'the proxy must append its peer to the header (nginx: $proxy_add_x_forwarded_for), and GATEHOUSE_TRUSTED_PROXIES may name proxies only';
      return failed('proxy', `what a client writes into X-Forwarded-For counts as its address, behind ${origin}`, todo);
    }
    if (isLoopback(plain) || isPrivate(plain)) {
      const todo = `if that is the proxy's address and not yours, set GATEHOUSE_TRUSTED_PROXIES to it`;
      return warned('proxy', `behind ${origin} this call came from ${plain}`, todo);
    }
    return fine('proxy', `behind ${origin} this call came from ${plain}`);
  } catch (error) {
    const detail = error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : messageOf(error);
    return failed('proxy', `${origin} does not answer: ${detail}`, 'check the proxy, its certificate and the name');
  }
}

async function sourceOf(origin: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const response = await fetch(`${origin}/healthz?source=1`, {
    headers: { ...headers },
    redirect: 'manual',
    signal: AbortSignal.timeout(CALL_MS_MAX),
  });
  const body = (await response.json()) as { readonly source_address?: unknown };
  if (typeof body.source_address === 'string') return body.source_address;
  throw new Error(`/healthz there has status ${response.status} and names no source address`);
}

/** Networks that are not routed on the Internet, in which proxies stand. */
function isPrivate(address: string): boolean {
  return /^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|f[cd]|fe[89ab])/i.test(
    address,
  );
}

/** Makes a signed call, which also shows whether the clocks of the two agree. */
export async function keyFinding(key: string, serverUrl: string): Promise<DoctorFinding> {
  const { origin } = new URL(serverUrl);
  const path = '/v1/me';
  const timestampSeconds = Math.floor(Date.now() / 1000);
  const headers = signRequest({ key, method: 'GET', path, body: '', timestampSeconds, requestId: randomUUID() });
  try {
    const signal = AbortSignal.timeout(CALL_MS_MAX);
    const response = await fetch(`${origin}${path}`, { headers, redirect: 'manual', signal });
    const { code, detail, name, test, scopes } = (await response.json()) as Readonly<Record<string, unknown>>;
    if (response.ok) {
      const rights = Array.isArray(scopes) ? scopes.join(', ') : '';
      return fine(
        'key',
        `${origin} accepts it, a ${test === true ? 'test' : 'live'} key of ${String(name)}: ${rights}`,
      );
    }
    const refusal = `${origin} answers ${String(code)}: ${String(detail)}`;
    if (code === 'key_not_allowed') {
      return warned('key', refusal, 'a key with the scope read, from an address that it allows, would show its rights');
    }
    return failed('key', refusal, 'see docs/signing.md, when a signature is refused');
  } catch (error) {
    const reason = error instanceof Error ? (error.cause ?? error) : error;
    return failed('key', `${origin} does not answer: ${messageOf(reason)}`, 'start the server, or name it by --url');
  }
}
