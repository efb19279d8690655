import { parseNetwork, readHostingTable } from '../../src/risk/signals/hosting-networks.ts';
import type { NetworkRange } from '../../src/risk/signals/hosting-networks.ts';
import { formatV4, parseV4 } from '../../src/kernel/ip-text.ts';

/** A company and its networks. */
export interface Company {
  /** AS numbers; the table contains only the first. */
  readonly asns: readonly number[];
  readonly name: string;
  readonly ranges: readonly NetworkRange[];
}

export interface Blocks {
  readonly day: string;
  readonly companies: readonly Company[];
}

const PER_LINE = 118;

/** Reads `blocks.txt`. Throws on anything unexpected. */
export function readBlocks(text: string): Blocks {
  let day = '';
  const companies: { asns: number[]; name: string; ranges: NetworkRange[] }[] = [];
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const heading = /^AS([\d,]+) (.+)$/.exec(line);
    if (line.startsWith('date ')) day = line.slice(5);
    else if (heading !== null)
      companies.push({ asns: (heading[1] ?? '').split(',').map(Number), name: heading[2] ?? '', ranges: [] });
    else {
      for (const word of line.split(' ')) {
        const range = parseNetwork(word);
        const company = companies.at(-1);
        if (range === null || company === undefined) throw new Error(`not a network: ${word}`);
        company.ranges.push(range);
      }
    }
  }
  return { day, companies };
}

/**
 * Replaces the companies' blocks by their networks in IP-to-ASN lists: rows of `first,last,asn,…`, separated by commas or tabs. Companies
 * that occur in no list keep their blocks, as do companies for which `keep` is true.
 */
export function fromLists(
  blocks: Blocks,
  lists: readonly string[],
  day: string,
  keep: (asn: number) => boolean,
): Blocks {
  const found = new Map<number, NetworkRange[]>();
  for (const list of lists) {
    for (const line of list.split('\n')) {
      const [first = '', last = '', asn = ''] = line.split(/[,\t]/);
      const range = toRange(first, last);
      if (range === null) continue;
      const ranges = found.get(Number(asn));
      if (ranges === undefined) found.set(Number(asn), [range]);
      else ranges.push(range);
    }
  }
  const companies = blocks.companies.map((company) => {
    const ranges = company.asns.flatMap((asn) => (keep(asn) ? [] : (found.get(asn) ?? [])));
    return ranges.length > 0 ? { ...company, ranges } : company;
  });
  return { day, companies };
}

/**
 * Returns the text of the table, without a trailing line feed. The same blocks always give the same text. Throws when the service would
 * reject the table, for example when two companies share a network.
 */
export function makeTable({ day, companies }: Blocks): string {
  let networks = 0;
  const parts: string[] = [];
  for (const { asns, name, ranges } of companies) {
    const words: string[] = [];
    for (const version of [4, 6] as const) {
      for (const range of merge(ranges.filter((one) => one.version === version))) words.push(...toNetworks(range));
    }
    if (words.length === 0) continue;
    networks += words.length;
    parts.push(`AS${asns[0]} ${name}`, ...wrap(words));
  }
  const text = [`gatehouse-hosting-networks 1 ${day} ${networks}`, ...parts].join('\n');
  const outcome = readHostingTable(text);
  if (outcome.kind === 'fault') throw new Error(outcome.detail);
  return text;
}

/** Returns null for lines that are not rows, and for IPv6 ranges smaller than a /48. */
function toRange(firstText: string, lastText: string): NetworkRange | null {
  if (!firstText.includes(':')) {
    const first = parseV4(firstText);
    const last = parseV4(lastText);
    return first < 0 || last < first ? null : { version: 4, first, last };
  }
  const first = groups(firstText);
  const last = groups(lastText);
  if (first === null || last === null) return null;
  // Shrinks the range to complete /48 networks.
  const from = bits48(first) + (first.slice(3).some((group) => group !== 0) ? 1 : 0);
  const to = bits48(last) - (last.slice(3).some((group) => group !== 0xffff) ? 1 : 0);
  return to < from ? null : { version: 6, first: from, last: to };
}

function groups(text: string): number[] | null {
  const [head = '', tail] = text.split('::');
  const left = readGroups(head);
  const right = readGroups(tail ?? '');
  const all = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right];
  return all.length === 8 && all.every((group) => group >= 0 && group <= 0xffff) ? all : null;
}

function readGroups(part: string): number[] {
  return part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
}

function bits48(all: readonly number[]): number {
  return ((all[0] ?? 0) * 65_536 + (all[1] ?? 0)) * 65_536 + (all[2] ?? 0);
}

/** Sorts the ranges and joins neighbours and overlaps. */
function merge(ranges: readonly NetworkRange[]): NetworkRange[] {
  const merged: NetworkRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.first - b.first || a.last - b.last)) {
    const before = merged.at(-1);
    if (before !== undefined && range.first <= before.last + 1) {
      merged[merged.length - 1] = { ...before, last: Math.max(before.last, range.last) };
    } else merged.push(range);
  }
  return merged;
}

/** Returns the smallest list of CIDR networks that covers a range exactly. */
function toNetworks({ version, first, last }: NetworkRange): string[] {
  const bits = version === 4 ? 32 : 48;
  const words: string[] = [];
  for (let at = first; at <= last;) {
    let length = bits;
    while (length > 0 && at % 2 ** (bits - length + 1) === 0 && at + 2 ** (bits - length + 1) - 1 <= last) length--;
    words.push(`${version === 4 ? formatV4(at) : formatV6(at)}/${length}`);
    at += 2 ** (bits - length);
  }
  return words;
}

function formatV6(bits: number): string {
  const all = [Math.floor(bits / 2 ** 32), Math.floor(bits / 65_536) % 65_536, bits % 65_536];
  while (all.length > 1 && all.at(-1) === 0) all.pop();
  return `${all.map((group) => group.toString(16)).join(':')}::`;
}

function wrap(words: readonly string[]): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    if (line !== '' && line.length + word.length + 1 > PER_LINE) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, line];
}
