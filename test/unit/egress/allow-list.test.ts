import { describe, expect, test } from 'vitest';
import { parseEgressAllow } from '../../../src/egress/allow-list.ts';

describe('parseEgressAllow', () => {
  test.each([
    ['', []],
    [' , ', []],
    ['127.0.0.0/8', ['127.0.0.0/8']],
    ['10.1.2.3', ['10.1.2.3/32']],
    ['10.0.0.0/8,192.168.1.0/24', ['10.0.0.0/8', '192.168.1.0/24']],
    ['10.0.0.0/8 \n fd00::/8, ::1', ['10.0.0.0/8', 'fd00::/8', '::1/128']],
    ['FD00:0:0::/8 fd00::/8', ['fd00::/8']],
    ['::ffff:10.0.0.0/104', ['10.0.0.0/8']],
    ['0.0.0.0/0, ::/0', ['0.0.0.0/0', '::/0']],
  ])('%j is parsed as the allowed networks %j', (text, cidrs) => {
    expect(parseEgressAllow(text)).toEqual({ kind: 'ok', cidrs });
  });

  test.each([
    '10/8',
    '10.0.0.1/8',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '010.0.0.0/8',
    '0x0a.0.0.0/8',
    'fd00::1/8',
    'fd00::/129',
    'fe80::1%eth0',
    'localhost',
    'example.com',
    '10.0.0.0-10.0.0.9',
    '127.0.0.0/8;10.0.0.0/8',
  ])('%j is rejected with a message that names the invalid entry', (text) => {
    const read = parseEgressAllow(`192.168.0.0/16, ${text}`);
    expect(read).toMatchObject({ kind: 'fault', detail: expect.stringContaining(text) });
  });

  test('a setting with more than 256 networks is rejected', () => {
    const many = Array.from({ length: 300 }, (_, i) => `10.0.${i >> 8}.${i & 255}`).join(',');
    expect(parseEgressAllow(many).kind).toBe('fault');
  });
});
