/** IP addresses as 16 bytes; an IPv4 address as its IPv4-mapped form, so that both spellings of it are equal. */
export type AddressBytes = readonly number[];

const MAPPED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
const MAPPED_BITS = 96;

/** Parses an IPv4 or IPv6 address without a port or brackets; a zone (`%eth0`) is ignored. Returns null for anything else. */
export function readAddress(text: string): AddressBytes | null {
  if (!text.includes(':')) return readV4(text, MAPPED);
  const [plain = ''] = text.split('%');
  const lastColon = plain.lastIndexOf(':');
  const tail = plain.slice(lastColon + 1);
  if (!tail.includes('.')) return readV6(plain);
  const v4 = readV4(tail, []);
  return v4 === null ? null : readV6(`${plain.slice(0, lastColon + 1)}${hexPair(v4, 0)}:${hexPair(v4, 2)}`);
}

function readV4(text: string, prefix: readonly number[]): number[] | null {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256))
    return null;
  return [...prefix, ...parts.map(Number)];
}

function hexPair(bytes: readonly number[], at: number): string {
  return (((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)).toString(16);
}

function readV6(text: string): number[] | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const [left, right] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const groups = [...(left ?? []), ...(right ?? [])];
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return null;
  if (right === undefined ? groups.length !== 8 : groups.length > 7) return null;
  const zeros = Array.from({ length: 8 - groups.length }, () => '0');
  return [...(left ?? []), ...zeros, ...(right ?? [])].flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 255];
  });
}

/** Returns the usual spelling: IPv4 for an IPv4-mapped address. */
export function showAddress(bytes: AddressBytes): string {
  if (MAPPED.every((byte, at) => bytes[at] === byte)) return bytes.slice(12).join('.');
  const groups = Array.from({ length: 8 }, (_, at) => hexPair(bytes, at * 2));
  // The first of the longest runs of two or more zeros.
  const runs = [
    ...groups
      .map((group) => (group === '0' ? '0' : '1'))
      .join('')
      .matchAll(/00+/g),
  ];
  const longest = runs.reduce((best, [run]) => Math.max(best, run.length), 0);
  const run = runs.find(([zeros]) => zeros.length === longest);
  if (run === undefined) return groups.join(':');
  return `${groups.slice(0, run.index).join(':')}::${groups.slice(run.index + longest).join(':')}`;
}

/** Parses `10.0.0.0/8` or a single address, and returns a test for membership; null if it is neither. */
export function networkTest(text: string): ((address: AddressBytes) => boolean) | null {
  const [base = '', length, ...rest] = text.split('/');
  const bytes = readAddress(base);
  if (bytes === null || rest.length > 0) return null;
  const bitsMax = base.includes(':') ? 128 : 32;
  if (length !== undefined && !(/^\d{1,3}$/.test(length) && Number(length) <= bitsMax)) return null;
  const bits = (length === undefined ? bitsMax : Number(length)) + (bitsMax === 32 ? MAPPED_BITS : 0);
  return (address) => haveSamePrefix(address, bytes, bits);
}

function haveSamePrefix(a: AddressBytes, b: AddressBytes, bits: number): boolean {
  const whole = bits >> 3;
  for (let at = 0; at < whole; at++) if (a[at] !== b[at]) return false;
  const rest = bits & 7;
  return rest === 0 || (a[whole] ?? 0) >> (8 - rest) === (b[whole] ?? 0) >> (8 - rest);
}

function networks(...list: readonly string[]): readonly ((address: AddressBytes) => boolean)[] {
  return list.flatMap((text) => networkTest(text) ?? []);
}

export const LOOPBACK_NETWORKS: readonly string[] = ['127.0.0.0/8', '::1'];
export const PRIVATE_NETWORKS: readonly string[] = [
  ...LOOPBACK_NETWORKS,
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  'fc00::/7',
  'fe80::/10',
  '169.254.0.0/16',
];

/**
 * Addresses that no visitor of a public site has. The networks of documentation (192.0.2.0/24 and others) are not among them: test keys
 * give addresses in them a meaning. Source: RFC 6890.
 */
const NEVER_PUBLIC = networks(
  ...PRIVATE_NETWORKS,
  '0.0.0.0/8',
  '100.64.0.0/10',
  '192.0.0.0/24',
  '198.18.0.0/15',
  '224.0.0.0/3',
  '::',
  'ff00::/8',
);

export function isPublicAddress(address: AddressBytes): boolean {
  return !NEVER_PUBLIC.some((includes) => includes(address));
}
