import type { FieldError } from '../../base/problem.ts';
import { registrableDomain } from '../../core/registrable-domain.ts';
import type { Connector, JsonObject } from '../connector.ts';
import { hostOf, isAddress } from '../read/urls.ts';
import { addressesOf } from './input.ts';

/** What a session is to be used for. */
export interface SessionUse {
  readonly connector: Pick<Connector, 'id' | 'hosts'>;
  /** It holds to the operation's schema. */
  readonly input: JsonObject;
}

/**
 * An error where the session's host and what the job asks have nothing to do with each other: the job would run logged out, and
 * nobody would be told. null also where it cannot be told beforehand which hosts are asked. `bases`: connector → another base address.
 */
export function sessionHostFault(
  sessionHost: string,
  use: SessionUse,
  bases: Readonly<Record<string, string>>,
): FieldError | null {
  const hosts = hostsOf(use, bases);
  const isWide = use.input['subdomains'] === true;
  if (hosts.length === 0 || hosts.some((host) => belongs(host, sessionHost, isWide))) return null;
  const message = `This session is for ${sessionHost}, and this job asks ${hosts.join(', ')}.`;
  return { pointer: '/session', code: 'invalid_value', message };
}

/** Of a source that is the same for all inputs its own, or the one that an operator has set; else those that the input names. */
function hostsOf({ connector, input }: SessionUse, bases: Readonly<Record<string, string>>): readonly string[] {
  const { id, hosts } = connector;
  if (hosts === undefined) return addressesOf(input).map(({ url }) => hostOf(url));
  const base = bases[id];
  return base === undefined ? hosts : [hostOf(base)];
}

/**
 * Whether anything of the session may go to the host. Choice: also where only the host with `www.` before it is the session's, because
 * sites send the one on to the other, and in a walk through all hosts of a domain where both are of that.
 */
function belongs(host: string, sessionHost: string, isWide: boolean): boolean {
  if (host === sessionHost) return true;
  if (isAddress(host) || isAddress(sessionHost)) return false;
  if (host.endsWith(`.${sessionHost}`) || sessionHost === `www.${host}`) return true;
  const domain = registrableDomain(host);
  return isWide && domain !== null && domain === registrableDomain(sessionHost);
}
