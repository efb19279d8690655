import type { IpFacts } from '../facts.ts';
import type { Networks } from '../history.ts';
import { addressOfNode, formatV4, formatV6, parseV4, parseV6 } from '../../kernel/ip-text.ts';
import { isPublicV4, isPublicV6, v4In } from '../../kernel/special-networks.ts';

/** Returns the facts of an `ip` field, which may be written as a proxy writes the address of its client: with a port, in brackets. */
export function readIpField(text: string): IpFacts {
  const plain = text.trim();
  const facts = readIp(plain);
  return facts.kind === 'valid' ? facts : readIp(addressOfNode(plain));
}

/** Returns the facts of an address, without anything around it. */
export function readIp(text: string): IpFacts {
  const v4 = parseV4(text);
  if (v4 >= 0) return v4Facts(v4, text);
  const parsed = parseV6(text);
  if (parsed === null) return { kind: 'invalid' };
  const mapped = mappedV4(parsed);
  if (mapped >= 0) return v4Facts(mapped, formatV4(mapped));
  return {
    kind: 'valid',
    version: 6,
    text: formatV6(parsed),
    public: isPublicV6(parsed),
    networks: v6Networks(parsed),
  };
}

/** `text` is canonical, as every text that `parseV4` accepts. */
function v4Facts(v: number, text: string): IpFacts {
  const site = text.slice(0, text.lastIndexOf('.'));
  const networks = { host: text, site, region: site.slice(0, site.lastIndexOf('.')) };
  return { kind: 'valid', version: 4, text, public: isPublicV4(v), networks };
}

/** Choice: a /64 is one subscriber line, whose owner has all of its addresses; a site is assigned a /48 and a provider a /32 or more. */
export function v6Networks(g: readonly number[]): Networks {
  const prefix = (groups: number): string =>
    `${g
      .slice(0, groups)
      .map((x) => x.toString(16))
      .join(':')}::`;
  return { host: prefix(4), site: prefix(3), region: prefix(2) };
}

/** Returns the IPv4 address of `::ffff:a.b.c.d`, else -1. Other embeddings identify another host's path and are not unwrapped. */
function mappedV4(g: readonly number[]): number {
  for (let i = 0; i < 5; i++) if (g[i] !== 0) return -1;
  return g[5] === 0xffff ? v4In(g, 6) : -1;
}
