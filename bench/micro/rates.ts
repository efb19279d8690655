import { FailedAuthentications } from '../../src/decide/failed-authentications.ts';
import { rateFields } from '../../src/decide/rate-fields.ts';
import { createRateMemory, RateWindow } from '../../src/local/rate-window.ts';
import { NOW_SECONDS } from './fixtures.ts';
import { Ring, type Stage } from './stage.ts';

const ALLOWANCE = 2 ** 31;

export const rates: Stage = {
  name: 'rate windows',
  add(tasks) {
    const window = new RateWindow(createRateMemory());
    tasks.add('take', {
      perSample: 1_024,
      run(n) {
        window.roll(NOW_SECONDS);
        return window.take(1 + (n & 31), ALLOWANCE);
      },
      isSane: (remaining) => remaining > 0,
    });
    const visitors = Ring.of(1_024, (n) => `81.3.${n >> 8}.${n & 255}`);
    tasks.add('take a visitor of a public key', {
      perSample: 1_024,
      run(n) {
        window.roll(NOW_SECONDS);
        window.leftOfVisitor(64, ALLOWANCE, visitors.at(n));
        return window.takeVisitor(64, ALLOWANCE);
      },
      isSane: (remaining) => remaining > 0,
    });
    const failures = new FailedAuthentications();
    const addresses = Ring.of(1_024, (n) => `81.2.${n >> 8}.${n & 255}`);
    tasks.add('take a failure', {
      perSample: 1_024,
      // Uses a new window for each sample: beyond the limit only rejections would be measured.
      run: (n) => failures.take(addresses.at(n), NOW_SECONDS + 120 * (n >> 10)),
      isSane: (state) => state.allowed,
    });
    const states = Ring.of(64, (n) => {
      return { limit: 600_000 + n, remaining: 600_000 - n, resetSeconds: NOW_SECONDS + 60, retryAfterSeconds: n };
    });
    tasks.add('rateFields', {
      perSample: 256,
      run: (n) => rateFields(states.at(n)),
      isSane: (fields) => fields.startsWith('\r\nX-SVC-Rl-Limit: 600'),
    });
    return {};
  },
};
