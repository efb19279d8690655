import { expect, it } from 'vitest';
import { readHostingTable } from '../../../src/risk/signals/hosting-networks.ts';
import { hostingStatus } from '../../../src/assets/hosting-status.ts';

const TABLE = readHostingTable('gatehouse-hosting-networks 1 2026-11-22 1\nAS64500 One\n192.0.2.0/24');

it('The hosting status shows the date and the size of the table, and a note once it is over a year old', () => {
  expect(hostingStatus(TABLE, false, Date.parse('2027-11-22'))).toEqual({
    state: 'ok',
    version: 'built-in 2026-11-22, 1 networks',
    detail: '',
    refused: false,
  });
  expect(hostingStatus(TABLE, false, Date.parse('2027-11-23')).detail).toContain('over 12 months old');
});

it('The hosting status shows that a database replaces the table, however old the table is', () => {
  expect(hostingStatus(TABLE, true, Date.parse('2030-01-01'))).toMatchObject({
    detail: 'not used: a database replaces it',
  });
});

it('The hosting status is broken when the table cannot be read', () => {
  expect(hostingStatus(readHostingTable(''), false, 0)).toMatchObject({ state: 'broken', refused: true });
});
