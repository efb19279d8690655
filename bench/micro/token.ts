import { readToken } from '../../src/risk/signals/collector-token.ts';
import { collectorToken } from './fixtures.ts';
import { Ring, type Stage } from './stage.ts';

export const token: Stage = {
  name: 'token',
  add(tasks) {
    const collectors = Ring.of(256, collectorToken);
    tasks.add('collector', {
      perSample: 256,
      run: (n) => readToken(collectors.at(n)),
      isSane: ({ facts, fingerprint }) => facts.kind === 'collector' && fingerprint !== null,
    });
    const opaque = Ring.of(256, (n) => `session-20261121-${n}`);
    tasks.add('opaque', {
      perSample: 256,
      run: (n) => readToken(opaque.at(n)),
      isSane: ({ facts }) => facts.kind === 'opaque',
    });
    return {};
  },
};
