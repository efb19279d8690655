import type { FieldError } from '../../contract/problem.ts';
import { registrableDomain } from '../../kernel/registrable-domain.ts';
import type { Connector, JsonObject } from '../base/connector.ts';
import { hostOf, isAddress } from '../read/urls.ts';
import { addressesOf } from './job-input.ts';

/** What a session is to be used for. */
export interface SessionUse {
  readonly connector: Pick<Connector, 'id' | 'hosts'>;
  /** Matches the operation's schema. */
  readonly input: JsonObject;
}

/**
 * Returns an error if the session's host is unrelated to the hosts that the job requests. Without this check, the job would run logged out
 * and nobody would notice. Returns null if the requested hosts are not known in advance. `bases`: connector → base address that replaces
 * its own.
 */
export function sessionHostFault(
  sessionHost: string,
  use: SessionUse,
  bases: Readonly<Record<string, string>>,
): FieldError | null {
  const hosts = hostsOf(use, bases);
  const isWide = use.input['subdomains'] === true;
  if (hosts.length === 0 || hosts.some((host) => belongs(host, sessionHost, isWide))) return null;
  const message = `This session is for ${sessionHost}, but this job requests ${hosts.join(', ')}.`;
  return { pointer: '/session', code: 'invalid_value', message };
}

/**
 * Returns the hosts that a job requests: the fixed hosts of a source that is the same for all inputs, or the operator's base address for
 * it, else the hosts in the input.
 */
function hostsOf({ connector, input }: SessionUse, bases: Readonly<Record<string, string>>): readonly string[] {
  const { id, hosts } = connector;
  if (hosts === undefined) return addressesOf(input).map(({ url }) => hostOf(url));
  const base = bases[id];
  return base === undefined ? hosts : [hostOf(base)];
}

/**
 * Returns whether any part of the session may be sent to the host. Choice: also true if the session's host is the same with `www.` in
 * front, because sites redirect from one to the other. In a crawl over all hosts of a domain, also true if both hosts belong to that
 * domain.
 */
function belongs(host: string, sessionHost: string, isWide: boolean): boolean {
  if (host === sessionHost) return true;
  if (isAddress(host) || isAddress(sessionHost)) return false;
  if (host.endsWith(`.${sessionHost}`) || sessionHost === `www.${host}`) return true;
  const domain = registrableDomain(host);
  return isWide && domain !== null && domain === registrableDomain(sessionHost);
}
