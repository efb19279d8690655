import { expect, test } from 'vitest';
import { signalRows } from '../../../src/web/dashboard/pages/decision/signal-rows.ts';

const historyOf = (count: number): string | undefined =>
  signalRows({
    'history:known': 1,
    'entities:count': 1,
    'history:session_decisions_1m': count,
    'history:entity_devices_24h': count,
    'history:entity_networks_1h': count,
    'history:device_entities_24h': count,
  }).find(({ about }) => about === 'History')?.server;

test('The history counts one as one', () => {
  expect(historyOf(1)).toMatch(/^1 decision .* 1 device .* 1 network .* 1 identity of the device/);
  expect(historyOf(2)).toMatch(/^2 decisions .* 2 devices .* 2 networks .* 2 identities of the device/);
});
