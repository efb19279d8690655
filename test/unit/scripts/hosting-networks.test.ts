import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fromLists, makeTable, readBlocks } from '../../../scripts/hosting-networks/make-table.ts';
import { HOSTING_NETWORKS } from '../../../src/risk/data/hosting-network-table.ts';
import { readHostingTable } from '../../../src/risk/signals/hosting-networks.ts';

const BLOCKS = `# a comment
date 2026-11-22

AS64500,64510 One
192.0.2.0/25 192.0.2.128/25 198.51.100.0/24
2001:db8:1::/48 2001:db8::/48

AS64501 Relay
203.0.113.0/24

AS64502 Nothing
`;

const COMMAS = `192.0.2.0,192.0.2.191,64500,"One, Inc."
192.0.2.192,192.0.2.255,64510,One
198.51.100.0,198.51.100.255,64503,Else
203.0.113.0,203.0.113.255,64501,Relay
2001:db8::1,2001:db8:3:ffff:ffff:ffff:ffff:ffff,64500,One
2001:db8:9::,2001:db8:9:7fff:ffff:ffff:ffff:ffff,64500,One
no row
`;

describe('the table of hosting networks', () => {
  it('The committed table is the one made from the committed blocks', () => {
    const blocks = readFileSync('scripts/hosting-networks/blocks.txt', 'utf8');
    expect(HOSTING_NETWORKS.trim()).toBe(makeTable(readBlocks(blocks)));
  });

  it('The table joins adjacent networks and is the same each time', () => {
    const text = makeTable(readBlocks(BLOCKS));
    expect(text).toBe(
      'gatehouse-hosting-networks 1 2026-11-22 4\nAS64500 One\n192.0.2.0/24 198.51.100.0/24 2001:db8::/47\nAS64501 Relay\n203.0.113.0/24',
    );
    expect(makeTable(readBlocks(BLOCKS))).toBe(text);
    expect(readHostingTable(text).kind).toBe('ok');
  });

  it('The table is made from an IP-to-ASN list with commas or tabs, without relays, whose blocks stay', () => {
    const blocks = readBlocks(BLOCKS);
    const tabs = COMMAS.replaceAll(',', '\t');
    for (const list of [COMMAS, tabs]) {
      // Only complete /48 networks of IPv6 count.
      expect(makeTable(fromLists(blocks, [list], '2027-01-01', (asn) => asn === 64_501))).toBe(
        'gatehouse-hosting-networks 1 2027-01-01 4\nAS64500 One\n192.0.2.0/24 2001:db8:1::/48 2001:db8:2::/47\nAS64501 Relay\n203.0.113.0/24',
      );
    }
  });

  it('Invalid and overlapping blocks are refused', () => {
    expect(() => readBlocks('AS1 One\n192.0.2.1/24')).toThrow('not a network: 192.0.2.1/24');
    expect(() => readBlocks('192.0.2.0/24')).toThrow('not a network');
    const twice = 'date 2026-11-22\nAS1 One\n192.0.2.0/24\nAS2 Two\n192.0.2.0/25';
    expect(() => makeTable(readBlocks(twice))).toThrow('networks of One and Two overlap');
  });
});
