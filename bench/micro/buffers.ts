import { keyText } from './keys.ts';
import { Ring, type Stage } from './stage.ts';

/** Compares the Buffer methods without an encoding argument (`src/kernel/buffer-methods.d.ts`) with the general ones. */
export const buffers: Stage = {
  name: 'buffers',
  add(tasks) {
    const texts = Ring.of(64, (n) => keyText('sk', n).padEnd(160, '.'));
    const out = Buffer.alloc(256);
    const read = Buffer.from(texts.at(0));
    const isRead = (text: string): boolean => text === texts.at(0);
    tasks.add('write(…, latin1)', {
      perSample: 256,
      run: (n) => out.write(texts.at(n), 0, 'latin1'),
      isSane: isWritten,
    });
    tasks.add('latin1Write', { perSample: 256, run: (n) => out.latin1Write(texts.at(n), 0), isSane: isWritten });
    tasks.add('toString(latin1)', { perSample: 256, run: () => read.toString('latin1', 0, 160), isSane: isRead });
    tasks.add('latin1Slice', { perSample: 256, run: () => read.latin1Slice(0, 160), isSane: isRead });
    return {};
  },
};

function isWritten(bytes: number): boolean {
  return bytes === 160;
}
