import type { Api } from './api-types.ts';
import {
  isPublicAddress,
  LOOPBACK_NETWORKS,
  PRIVATE_NETWORKS,
  readAddress,
  networkTest,
  showAddress,
  type AddressBytes,
} from './address-networks.ts';
import { GatehouseSettingError } from './failure.ts';

/** A request of node:http, Express, Fastify or Koa, or a `Request` of fetch. */
export interface VisitorRequest {
  readonly headers: VisitorHeaders;
  /** The target (`/login`) or the whole URL. */
  readonly url?: string | undefined;
  /** The target before a router shortened it, as Express keeps it. */
  readonly originalUrl?: string | undefined;
  readonly socket?: { readonly remoteAddress?: string | undefined; readonly encrypted?: boolean } | null | undefined;
}

export type VisitorHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null };

export interface VisitorOptions {
  /**
   * Proxies of your own in front of the application: their number, or their networks (`'10.0.0.0/8'`, `'loopback'`, `'private'`).
   * Default 0: no header is believed, and the visitor's address is that of the connection.
   */
  readonly trustProxy?: number | readonly string[] | undefined;
  /**
   * The header to which your proxies append the address that they see; default `x-forwarded-for`. `forwarded` is read as RFC 7239 has
   * it. Your proxies must set or append this one: visitors can send any other.
   */
  readonly forwardedHeader?: string | undefined;
  /** The address of the connection, where the request does not have it. */
  readonly remoteAddress?: string | undefined;
  /** For development, and for services inside your own network: accepts private, loopback and reserved addresses. */
  readonly allowPrivateAddresses?: boolean | undefined;
}

/** The members of a decide request that the visitor's HTTP request gives. */
export type VisitorFacts = Pick<Api.DecideRequest, 'ip' | 'user_agent' | 'url' | 'referrer' | 'headers'>;

/** Headers that are passed on. Cookies, authorization and everything unknown stay in the application. */
const PASSED_HEADERS: readonly string[] = [
  'accept',
  'accept-language',
  'accept-encoding',
  'sec-ch-ua',
  'sec-ch-ua-mobile',
  'sec-ch-ua-platform',
  'sec-fetch-site',
  'sec-fetch-mode',
  'sec-fetch-dest',
  'user-agent',
];

/** Headers that only a proxy of your own can set rightly: passed on if one is trusted. */
const PROXY_HEADERS: readonly string[] = ['x-svc-ja3', 'x-svc-ja4'];

/**
 * Returns address, agent, page and headers of a visitor. Throws a `GatehouseSettingError` if the address is private or reserved, since the
 * decision would then be about your own proxy. `url` and `referrer` are without their queries, which may hold secrets.
 */
export function visitorOf(request: VisitorRequest, options: VisitorOptions = {}): VisitorFacts {
  const trusts = trustOf(options.trustProxy);
  const read = (name: string): string | undefined => readHeader(request.headers, name);
  const names = [...PASSED_HEADERS, ...(trusts.isEmpty ? [] : PROXY_HEADERS)];
  return {
    ip: showAddress(addressOfVisitor(request, options, trusts)),
    ...present('user_agent', read('user-agent')),
    ...present('url', urlOfPage(request, read, !trusts.isEmpty)),
    ...present('referrer', withoutQuery(read('referer'))),
    headers: Object.assign({}, ...names.map((name) => present(name, read(name)))) as Record<string, string>,
  };
}

function present<Name extends string>(name: Name, value: string | undefined): { [Key in Name]?: string } {
  return value === undefined ? {} : ({ [name]: value } as { [Key in Name]?: string });
}

export function readHeader(headers: VisitorHeaders, name: string): string | undefined {
  if (typeof headers['get'] === 'function')
    return (headers as { get(name: string): string | null }).get(name) ?? undefined;
  const value = (headers as Readonly<Record<string, string | readonly string[] | undefined>>)[name];
  return typeof value === 'string' || value === undefined ? value : value.join(', ');
}

interface ProxyTrust {
  readonly isEmpty: boolean;
  /** Whether the sender at this place is a proxy of yours; 0 is the connection. */
  includes(address: AddressBytes | null, place: number): boolean;
}

function networksOfName(name: string): readonly string[] {
  if (name === 'loopback') return LOOPBACK_NETWORKS;
  return name === 'private' ? PRIVATE_NETWORKS : [name];
}

function trustOf(setting: number | readonly string[] = 0): ProxyTrust {
  if (typeof setting === 'number') {
    if (!Number.isInteger(setting) || setting < 0)
      throw new GatehouseSettingError('invalid_option', `trustProxy is ${setting}; the number of proxies is 0 or more`);
    return { isEmpty: setting === 0, includes: (_address, place) => place < setting };
  }
  const tests = setting.flatMap(networksOfName).map((text) => {
    const network = networkTest(text);
    if (network === null)
      throw new GatehouseSettingError(
        'invalid_option',
        `trustProxy has "${text}", which is neither a network such as 10.0.0.0/8, nor "loopback" or "private"`,
      );
    return network;
  });
  return {
    isEmpty: tests.length === 0,
    includes: (address) => address !== null && tests.some((includes) => includes(address)),
  };
}

function addressOfVisitor(request: VisitorRequest, options: VisitorOptions, trusts: ProxyTrust): AddressBytes {
  const connection = options.remoteAddress ?? request.socket?.remoteAddress;
  const header = options.forwardedHeader?.toLowerCase() ?? 'x-forwarded-for';
  const senders = [connection ?? null, ...forwardedAddresses(readHeader(request.headers, header), header)];
  let place = 0;
  // The connection's address is unknown on some platforms; a number of proxies then counts it as the first.
  while (place < senders.length - 1 && trusts.includes(readSender(senders[place]), place)) place++;
  const text = senders[place] ?? null;
  const address = readSender(text);
  if (address === null)
    throw new GatehouseSettingError(
      'address_unknown',
      `The visitor's address is ${text === null ? 'not known' : `"${text.slice(0, 64)}"`}: pass remoteAddress, or set trustProxy to the number or the networks of your proxies, and forwardedHeader to the header that they set (${header})`,
    );
  if (options.allowPrivateAddresses === true || isPublicAddress(address)) return address;
  const shown = showAddress(address);
  throw new GatehouseSettingError(
    'address_refused',
    trusts.isEmpty
      ? `The visitor's address is ${shown}, which is private or reserved: if proxies of yours stand in front, set trustProxy to their number or networks; for development set allowPrivateAddresses`
      : `The visitor's address is ${shown}, which is private or reserved: trustProxy leaves out a proxy, or ${header} is not the header that your proxies set (forwardedHeader); for development set allowPrivateAddresses`,
  );
}

/** Returns the addresses of a header, the nearest first. */
function forwardedAddresses(value: string | undefined, header: string): readonly string[] {
  if (value === undefined || value === '') return [];
  const entries = value.split(',').map((entry) => entry.trim());
  const read =
    header === 'forwarded'
      ? (entry: string): string => /(?:^|;)\s*for\s*=\s*("[^"]*"|[^;\s]*)/i.exec(entry)?.[1] ?? ''
      : (entry: string): string => entry;
  return entries.map((entry) => read(entry)).toReversed();
}

/** Parses an address with or without quotes, brackets and a port. */
function readSender(text: string | null | undefined): AddressBytes | null {
  const plain = (text ?? '').replaceAll('"', '');
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(plain)?.[1];
  return readAddress(bracketed ?? plain.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1'));
}

function urlOfPage(
  request: VisitorRequest,
  read: (name: string) => string | undefined,
  isProxyTrusted: boolean,
): string | undefined {
  const target = request.originalUrl ?? request.url;
  if (target === undefined || /^https?:/i.test(target)) return withoutQuery(target);
  const forwarded = (name: string): string | undefined =>
    isProxyTrusted ? read(name)?.split(',').at(-1)?.trim() : undefined;
  const host = forwarded('x-forwarded-host') ?? read('host');
  if (host === undefined) return undefined;
  const scheme = forwarded('x-forwarded-proto') ?? (request.socket?.encrypted === true ? 'https' : 'http');
  return withoutQuery(`${scheme}://${host}${target}`);
}

function withoutQuery(url: string | undefined): string | undefined {
  return url?.split(/[?#]/, 1)[0];
}
