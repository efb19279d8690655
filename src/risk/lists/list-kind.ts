import { domainToASCII } from 'node:url';
import {
  ENTITY_NAME_CHARACTERS_MAX,
  ENTITY_VALUE_CHARACTERS_MAX,
  USER_AGENT_CHARACTERS_MAX,
} from '../../kernel/limits.ts';
import { formatV4, formatV6, maskOf, parseV4, parseV6 } from '../../kernel/ip-text.ts';
import { ENTITY_KIND, LIST_KINDS } from '../../contract/vocabulary.ts';

export { ENTITY_KIND } from '../../contract/vocabulary.ts';
import { normalIdentity } from '../decision-links.ts';
import { readEmail } from '../signals/email.ts';
import { readIpField } from '../signals/ip.ts';

export type PlainListKind = (typeof LIST_KINDS)[number];
/** `entity.<name>` stands for the identities of one name of `entity_keys`. */
export type ListKind = PlainListKind | `entity.${string}`;

/** A value of a kind, in the one form that all of its spellings have. */
export interface ListTarget {
  readonly kind: ListKind;
  readonly value: string;
}

export type ListTargetRead =
  | { readonly kind: 'target'; readonly target: ListTarget }
  /** `message` is a sentence for the caller. */
  | { readonly kind: 'fault'; readonly message: string };

/** Choice: shorter beginnings, such as `Mozilla`, are those of most browsers. */
const AGENT_PREFIX_CHARACTERS_MIN = 8;
/** Choice: wider networks are entered by mistake more often than on purpose. */
const V4_BITS_MIN = 8;
const V6_BITS_MIN = 16;
const V6_LINE_BITS = 64;
const ASN_MAX = 0xffff_ffff;
const HASH = /^[0-9a-f]{64}$/i;
const DOMAIN = /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Returns the kind of a text; null for any other text. */
export function listKindOf(text: string): ListKind | null {
  if ((LIST_KINDS as readonly string[]).includes(text)) return text as PlainListKind;
  const name = text.startsWith(ENTITY_KIND) ? text.slice(ENTITY_KIND.length) : '';
  return name !== '' && name.length <= ENTITY_NAME_CHARACTERS_MAX ? (text as ListKind) : null;
}

/** Returns whether values of the kind name a person. */
export function isIdentityKind(kind: ListKind): boolean {
  return kind === 'email' || kind.startsWith(ENTITY_KIND);
}

/** Returns whether an entry names a person or a device, not a network, a domain or a program. Source: contract, 7.2. */
export function isPersonKind(kind: ListKind): boolean {
  return kind === 'fingerprint' || kind === 'browser' || isIdentityKind(kind);
}

/** Stands before the 32 hex digits that answers show of an identity which is not kept. */
export const HIDDEN_VALUE = 'hash:';
const HIDDEN_FORM = /^hash:[0-9a-f]{32}$/;

/** Returns whether the value of an identity is the hash that answers show of it. */
export function isHiddenValue({ kind, value }: ListTarget): boolean {
  return isIdentityKind(kind) && HIDDEN_FORM.test(value);
}

/** Reads a value as a person writes it, or as answers show it. */
export function readListTarget(kind: ListKind, text: string): ListTargetRead {
  const hidden = { kind, value: text };
  if (isHiddenValue(hidden)) return { kind: 'target', target: hidden };
  const read = READERS[kind as PlainListKind] ?? readEntity;
  const value = read(text.trim());
  return typeof value === 'string' ? { kind: 'target', target: { kind, value } } : { kind: 'fault', ...value };
}

interface Refusal {
  readonly message: string;
}

const READERS: Readonly<Partial<Record<PlainListKind, (text: string) => string | Refusal>>> = {
  fingerprint: readHash,
  browser: readHash,
  ip: readAddress,
  network: readNetwork,
  asn: readAsn,
  country: (text) =>
    /^[a-z]{2}$/i.test(text)
      ? text.toUpperCase()
      : refuse('This must be an ISO 3166-1 code of two letters, such as FR.'),
  email: (text) => readEmail(text)?.canonical ?? refuse('This must be an e-mail address.'),
  email_domain: readDomain,
  user_agent: readAgentText,
};

function refuse(message: string): Refusal {
  return { message };
}

function readHash(text: string): string | Refusal {
  return HASH.test(text) ? text.toLowerCase() : refuse('This must be 64 hexadecimal digits.');
}

function readEntity(text: string): string | Refusal {
  const value = normalIdentity(text);
  if (value !== '' && value.length <= ENTITY_VALUE_CHARACTERS_MAX) return value;
  return refuse(`This must have 1 to ${ENTITY_VALUE_CHARACTERS_MAX} characters.`);
}

/** An IPv6 address stands for its /64, which is one subscriber's line. */
function readAddress(text: string): string | Refusal {
  const ip = readIpField(text.endsWith('/64') ? text.slice(0, -3) : text);
  if (ip.kind !== 'valid') return refuse('This must be an IP address.');
  if (ip.version === 4) return text.endsWith('/64') ? refuse('This must be an IP address.') : ip.text;
  return networkText6(parseV6(ip.text) ?? [], V6_LINE_BITS);
}

/** Returns the CIDR of the first `bits` bits of an IPv6 address. */
export function networkText6(groups: readonly number[], bits: number): string {
  return `${formatV6(groups.map((group, at) => group & maskOf(at, bits)))}/${bits}`;
}

export interface ListNetwork {
  readonly version: 4 | 6;
  readonly bits: number;
  /** The IPv4 address, an unsigned 32-bit number. */
  readonly v4: number;
  /** The eight groups of the IPv6 address. */
  readonly groups: readonly number[];
}

/** Choice: a domain of more labels than this has its last ones looked up. */
export const DOMAIN_LABELS_MAX = 8;

/** Reads the form that `readListTarget` returns for a network, or another CIDR; null for other text. */
export function parseListNetwork(text: string): ListNetwork | null {
  const slash = text.lastIndexOf('/');
  const bitsText = text.slice(slash + 1);
  if (slash < 0 || !/^\d{1,3}$/.test(bitsText)) return null;
  const bits = Number(bitsText);
  const address = text.slice(0, slash);
  const v4 = parseV4(address);
  if (v4 >= 0) return bits <= 32 ? { version: 4, bits, v4, groups: [] } : null;
  const groups = parseV6(address);
  return groups === null || bits > 128 ? null : { version: 6, bits, v4: 0, groups };
}

/** Returns the first `bits` bits of an IPv4 address. */
export function maskV4(v4: number, bits: number): number {
  return bits === 0 ? 0 : (v4 & (0xffff_ffff << (32 - bits))) >>> 0;
}

function readNetwork(text: string): string | Refusal {
  const network = parseListNetwork(text);
  if (network === null) return refuse('This must be a network in CIDR form, such as 203.0.113.0/24.');
  const { version, bits, v4, groups } = network;
  const bitsMin = version === 4 ? V4_BITS_MIN : V6_BITS_MIN;
  if (bits < bitsMin) return refuse(`This must not be wider than /${bitsMin}.`);
  const right = version === 4 ? `${formatV4(maskV4(v4, bits))}/${bits}` : networkText6(groups, bits);
  const isExact =
    version === 4 ? maskV4(v4, bits) === v4 : groups.every((group, at) => (group & maskOf(at, bits)) === group);
  return isExact ? right : refuse(`The address has bits beyond /${bits}: write ${right}.`);
}

function readAsn(text: string): string | Refusal {
  const digits = /^(?:AS)?(?<digits>\d{1,10})$/i.exec(text)?.groups?.['digits'] ?? '';
  const asn = Number(digits);
  if (digits === '' || asn === 0 || asn > ASN_MAX)
    return refuse('This must be the number of an autonomous system, such as AS64500.');
  return String(asn);
}

function readDomain(text: string): string | Refusal {
  const plain = text.replace(/^[@.]/, '').replace(/\.$/, '').toLowerCase();
  const domain = domainToASCII(plain);
  return DOMAIN.test(domain) ? domain : refuse('This must be a domain, such as mail.example.');
}

function readAgentText(text: string): string | Refusal {
  if (text === '' || text.length > USER_AGENT_CHARACTERS_MAX)
    return refuse(`This must have 1 to ${USER_AGENT_CHARACTERS_MAX} characters.`);
  if (text.endsWith('*') && text.length <= AGENT_PREFIX_CHARACTERS_MIN)
    return refuse(`There must be at least ${AGENT_PREFIX_CHARACTERS_MIN} characters before *.`);
  return text;
}
