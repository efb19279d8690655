import type { IpFacts } from '../facts.ts';
import { v6Networks } from '../signals/ip.ts';
import { maskOf, parseV4, parseV6 } from '../../kernel/ip-text.ts';
import type { NamedSources } from './policy.ts';
import type { Family, Rule } from '../rules/rule.ts';

/** Rules about a source's software and request volume are meaningless for a source that is known to be a machine. */
const QUIET_FAMILIES: ReadonlySet<Family> = new Set(['client', 'tls', 'ip_volume', 'entity_volume', 'session_volume']);

/** Returns whether a rule also runs for a trusted source. */
export function isAskedOfTrusted({ family }: Rule): boolean {
  return !QUIET_FAMILIES.has(family);
}

type ValidIp = Extract<IpFacts, { readonly kind: 'valid' }>;

/** An IPv4 or IPv6 network. */
interface Network {
  readonly version: 4 | 6;
  readonly bits: number;
  /** Eight groups of 16 bits; IPv4 is in the last two. */
  readonly groups: readonly number[];
}

/** Choice: the largest blocks that were ever assigned; a shorter prefix is a typo. */
const BITS_MIN = { 4: 8, 6: 16 } as const;

/** Parses `203.0.113.0/24`, `2001:db8::/32` or one address; returns null for anything else, such as bits set beyond the prefix. */
export function readNetwork(text: string): Network | null {
  const [address = '', prefix, ...rest] = text.split('/');
  const groups = groupsOf(address);
  if (groups === null || rest.length > 0) return null;
  const version = address.includes(':') ? 6 : 4;
  const width = version === 4 ? 32 : 128;
  if (prefix !== undefined && !/^[1-9]\d{0,2}$/.test(prefix)) return null;
  const bits = prefix === undefined ? width : Number(prefix);
  if (bits < BITS_MIN[version] || bits > width) return null;
  const isWhole = groups.every((group, at) => (group & maskOf(at, bits + 128 - width)) === group);
  return isWhole ? { version, bits, groups } : null;
}

/** The start of every common browser's user agent. */
const BROWSERS_BEGIN = 'Mozilla/5.0 (';
const AGENT_CHARACTERS_MIN = 3;

/** Returns whether this matches some user agents but not all browsers: a complete one, or a prefix followed by `*`. */
export function isAgentPattern(text: string): boolean {
  const start = text.endsWith('*') ? text.slice(0, -1) : text;
  return start.length >= AGENT_CHARACTERS_MIN && !BROWSERS_BEGIN.startsWith(start);
}

interface NamedNetwork extends Network {
  readonly name: string;
}

/** The IPv4 networks of one prefix length, by the bits of their prefix. */
interface LevelV4 {
  readonly shift: number;
  readonly names: Map<number, string>;
}

/**
 * Identifies a trusted source by its address, else by its user agent. Created once for each policy; of several networks the narrowest wins.
 * Measured: 0.09 µs for an IPv4 address, 0.01 µs for an IPv6 one of another /32, on busy cores.
 */
export class TrustedSources {
  readonly #v4: LevelV4[] = [];
  /** By the text of their /32, which the facts of an address already contain. The narrowest first. */
  readonly #v6 = new Map<string, NamedNetwork[]>();
  /** Networks wider than /32. The narrowest first. */
  readonly #v6Wide: NamedNetwork[] = [];
  readonly #agents = new Map<string, string>();
  readonly #agentStarts: (readonly [start: string, name: string])[] = [];

  /** Both were validated; skips invalid networks. */
  constructor(networks: NamedSources, agents: NamedSources) {
    for (const [name, list] of Object.entries(networks)) {
      for (const text of list) this.#addNetwork(name, text);
    }
    this.#v4.sort((a, b) => a.shift - b.shift);
    for (const list of [...this.#v6.values(), this.#v6Wide]) list.sort((a, b) => b.bits - a.bits);
    for (const [name, list] of Object.entries(agents)) {
      for (const text of list) {
        if (text.endsWith('*')) this.#agentStarts.push([text.slice(0, -1), name]);
        else this.#agents.set(text, name);
      }
    }
  }

  get isEmpty(): boolean {
    const networks = this.#v4.length + this.#v6.size + this.#v6Wide.length;
    return networks + this.#agents.size + this.#agentStarts.length === 0;
  }

  /** Returns the source's name; null if it is not trusted. */
  find(ip: IpFacts | null, userAgent: string | null): string | null {
    const byAddress = ip?.kind === 'valid' ? this.#byAddress(ip) : null;
    if (byAddress !== null || userAgent === null) return byAddress;
    const whole = this.#agents.get(userAgent);
    if (whole !== undefined) return whole;
    for (const [start, name] of this.#agentStarts) if (userAgent.startsWith(start)) return name;
    return null;
  }

  #byAddress({ version, text, networks }: ValidIp): string | null {
    if (version === 4) {
      if (this.#v4.length === 0) return null;
      const address = parseV4(text);
      for (const { shift, names } of this.#v4) {
        const name = names.get(address >>> shift);
        if (name !== undefined) return name;
      }
      return null;
    }
    const near = this.#v6.get(networks.region);
    if (near === undefined && this.#v6Wide.length === 0) return null;
    const groups = parseV6(text);
    if (groups === null) return null;
    const isIn = (network: Network): boolean => isWithin(groups, network);
    return (near?.find(isIn) ?? this.#v6Wide.find(isIn))?.name ?? null;
  }

  #addNetwork(name: string, text: string): void {
    const network = readNetwork(text);
    if (network === null) return;
    const { version, bits, groups } = network;
    if (version === 4) {
      const shift = 32 - bits;
      let level = this.#v4.find((one) => one.shift === shift);
      if (level === undefined) this.#v4.push((level = { shift, names: new Map() }));
      level.names.set(((groups[6] ?? 0) * 65_536 + (groups[7] ?? 0)) >>> shift, name);
      return;
    }
    const named = { ...network, name };
    const { region } = v6Networks(groups);
    const near = this.#v6.get(region);
    if (bits < 32) this.#v6Wide.push(named);
    else if (near === undefined) this.#v6.set(region, [named]);
    else near.push(named);
  }
}

function groupsOf(address: string): readonly number[] | null {
  if (address.includes(':')) return parseV6(address);
  const v4 = parseV4(address);
  return v4 < 0 ? null : [0, 0, 0, 0, 0, 0, Math.floor(v4 / 65_536), v4 % 65_536];
}

function isWithin(address: readonly number[], { groups, bits }: Network): boolean {
  for (let at = 0; at * 16 < bits; at++) {
    if ((((address[at] ?? 0) ^ (groups[at] ?? 0)) & maskOf(at, bits)) !== 0) return false;
  }
  return true;
}
