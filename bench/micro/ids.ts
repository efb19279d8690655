import { newId } from '../../src/kernel/ids.ts';
import { NOW_SECONDS } from './fixtures.ts';
import type { Stage } from './stage.ts';

const ID = /^req_[0-9A-HJKMNP-TV-Z]{26}$/;

export const ids: Stage = {
  name: 'ids',
  add(tasks) {
    // The millisecond advances after every 32 ids, as at 32,000 requests/s.
    tasks.add('newId', {
      perSample: 256,
      run: (n) => newId('req', NOW_SECONDS * 1000 + (n >> 5)),
      isSane: (id) => ID.test(id),
    });
    return {};
  },
};
