import { describe, expect, test } from 'vitest';
import { readImport, type ImportFormat } from '../../../src/cli/list-import.ts';

const NOW = 1_795_262_400;

function read(text: string, format: ImportFormat): readonly string[] {
  return readImport(text, format, { kind: null, action: 'block', nowSeconds: NOW }).map((row) =>
    row.kind === 'fault'
      ? `${row.at}: ${row.message}`
      : `${row.entry.action} ${row.entry.target.kind} ${row.entry.target.value} ${row.entry.expiresAtSeconds ?? 'never'}`,
  );
}

describe('files of entries', () => {
  test('Text has one value a line, with comments', () => {
    const text =
      '# FireHOL level 1\n203.0.113.0/24\n\n198.51.100.7 ; a host\n2001:db8::/32\nnonsense\n203.0.113.9/24\n';
    expect(read(text, 'text')).toEqual([
      'block network 203.0.113.0/24 never',
      'block ip 198.51.100.7 never',
      'block network 2001:db8::/32 never',
      '6: This must be an IP address.',
      '7: The address has bits beyond /24: write 203.0.113.0/24.',
    ]);
  });

  test('CSV has a header, and its own kinds and actions', () => {
    const text =
      'kind,value,action,expires_at\ncountry,fr,watch,\nentity.card,"47,11",,2027-01-31\nip,x,block,\nasn,AS1,deny,\nasn\n';
    expect(read(text, 'csv')).toEqual([
      'watch country FR never',
      'block entity.card 47,11 1801353600',
      '4: This must be an IP address.',
      '5: action must be block, allow or watch',
      '6: it does not have as many cells as the first line',
    ]);
    expect(read('a,b\n1,2', 'csv')).toEqual(['1: the first line must name the columns, at least value']);
  });

  test('CrowdSec prints alerts with decisions, each with its duration', () => {
    const decision = { scope: 'Ip', value: '203.0.113.7', type: 'ban', duration: '3h59m10.5s', scenario: 'ssh-bf' };
    const alerts = [
      { decisions: [decision, { ...decision, scope: 'Range', value: '203.0.113.0/24', duration: '' }] },
      {
        decisions: [
          { ...decision, type: 'captcha' },
          { ...decision, scope: 'Session' },
        ],
      },
      { decisions: null },
      null,
    ];
    expect(read(JSON.stringify(alerts), 'crowdsec')).toEqual([
      `block ip 203.0.113.7 ${NOW + 3 * 3_600 + 59 * 60 + 10}`,
      'block network 203.0.113.0/24 never',
      '3: its type is captcha, not ban',
      '4: its scope is Session',
      '5: its scope is undefined',
      '6: its scope is undefined',
    ]);
    expect(() => read('{', 'crowdsec')).toThrow(SyntaxError);
  });
});
