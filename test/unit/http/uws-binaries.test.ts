import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { repairBinary, UWS_BINARIES } from '../../../src/http/uws-binaries.ts';

const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url));

describe('the uWebSockets.js binaries', () => {
  const installed = readdirSync(MODULES).filter((name) => name.startsWith('uWebSockets.js-'));

  test.each(installed)(
    'The binary %s is the one in the list, and its three branches are where the edits expect them',
    (name) => {
      const bytes = readFileSync(`${MODULES}/${name}/uws.node`);
      const known = UWS_BINARIES[name.slice('uWebSockets.js-'.length)];
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(known?.sha256);
      const before = Buffer.from(bytes);
      expect(repairBinary(bytes, known?.edits ?? [])).toBe(true);
      const changed = [...bytes.keys()].filter((at) => bytes[at] !== before[at]);
      // Two displacement bytes of one jump, and the condition of two.
      expect(changed).toHaveLength(4);
    },
  );

  test('A binary with other bytes at one of the positions is left unchanged', () => {
    const bytes = Buffer.from('7d007f', 'hex');
    const fits = [0, '7d', '73'] as const;
    expect(repairBinary(bytes, [fits, [1, '7f', '77']])).toBe(false);
    expect(bytes.toString('hex')).toBe('7d007f');
    expect(repairBinary(bytes, [fits, [2, '7f', '77']])).toBe(true);
    expect(bytes.toString('hex')).toBe('730077');
  });
});
