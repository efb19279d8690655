import { hash } from 'node:crypto';
import { KeyedHash } from '../../src/kernel/keyed-hash.ts';
import { Ring, type Stage } from './stage.ts';

export const keyedHash: Stage = {
  name: 'keyed hash',
  add(tasks) {
    const keyed = new KeyedHash(Buffer.alloc(16, 7));
    const texts = Ring.of(256, (n) => `5f0c4a52-1f1f-4b0f-9c8e-${String(n).padStart(16, '0')}`);
    tasks.add('40 characters', {
      perSample: 256,
      run(n) {
        keyed.update(7, texts.at(n));
        return keyed.low ^ keyed.high;
      },
      isSane: (mixed) => mixed !== 0,
    });
    tasks.add('40 characters, crypto.hash', {
      perSample: 256,
      run: (n) => hash('sha256', texts.at(n), 'hex'),
      isSane: (digest) => digest.length === 64,
    });
    return {};
  },
};
