import { LocalRateWindows, rateFields } from '../../src/decide/rate-windows.ts';
import { NOW_SECONDS } from './fixtures.ts';
import { Ring, type Stage } from './stage.ts';

const ALLOWANCE = 2 ** 31;

export const rates: Stage = {
  name: 'rate windows',
  add(tasks) {
    const windows = new LocalRateWindows();
    tasks.add('take', {
      perSample: 1_024,
      run: (n) => windows.take(1 + (n & 31), ALLOWANCE, NOW_SECONDS),
      isSane: (state) => state.allowed && state.remaining > 0,
    });
    const visitors = Ring.of(1_024, (n) => `81.3.${n >> 8}.${n & 255}`);
    tasks.add('take a visitor of a public key', {
      perSample: 1_024,
      run: (n) => windows.takeVisitor(64, ALLOWANCE, visitors.at(n), NOW_SECONDS),
      isSane: (state) => state.allowed,
    });
    const addresses = Ring.of(1_024, (n) => `81.2.${n >> 8}.${n & 255}`);
    tasks.add('take a failure', {
      perSample: 1_024,
      // Uses a new window for each sample: beyond the limit only rejections would be measured.
      run: (n) => windows.takeFailure(addresses.at(n), NOW_SECONDS + 120 * (n >> 10)),
      isSane: (state) => state.allowed,
    });
    const states = Ring.of(64, (n) => windows.take(100 + n, 600_000 + n, NOW_SECONDS + (n % 60)));
    tasks.add('rateFields', {
      perSample: 256,
      run: (n) => rateFields(states.at(n)),
      isSane: (fields) => fields.startsWith('\r\nX-SVC-Rl-Limit: 600'),
    });
    return {};
  },
};
