import { expect, test } from 'vitest';
import { readStore, sumStores } from '../../../bench/cluster/store-figures.ts';

const INFO = [
  '# Commandstats',
  'cmdstat_fcall:calls=10,usec=500,usec_per_call=50.00,rejected_calls=0,failed_calls=0',
  'cmdstat_config|resetstat:calls=1,usec=90,usec_per_call=90.00,rejected_calls=0,failed_calls=0',
  'cmdstat_info:calls=3,usec=100,usec_per_call=33.00,rejected_calls=0,failed_calls=0',
  'total_net_input_bytes:1000',
  'total_net_output_bytes:200',
  'used_memory:5000',
].join('\r\n');

test('The work of a store is what nodes sent, without the questions of the bench', () => {
  const { commands, netBytes, memoryBytes } = readStore(INFO);
  expect([...commands]).toEqual([['fcall', { calls: 10, us: 500 }]]);
  expect([netBytes, memoryBytes]).toEqual([1_200, 5_000]);
});

test('The work of several servers is summed by command', () => {
  const other = readStore('cmdstat_fcall:calls=1,usec=7\r\ncmdstat_xread:calls=2,usec=3');
  const sum = sumStores([readStore(INFO), other]);
  expect(Object.fromEntries(sum.commands)).toEqual({ fcall: { calls: 11, us: 507 }, xread: { calls: 2, us: 3 } });
  expect(sum.netBytes).toBe(1_200);
});
