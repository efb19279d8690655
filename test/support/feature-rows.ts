import { FEATURE_NAMES } from '../../src/risk/features.ts';
import { FEATURE_SETS } from '../../src/risk/stored-features.ts';

/** Returns the feature row that a build with this set of columns wrote, of small whole numbers and others. */
export function featureRow(set: number, values: Readonly<Record<string, number>>): Buffer {
  const names = (FEATURE_SETS.get(set) ?? []).map((column) => FEATURE_NAMES[column] ?? '');
  const head = Buffer.alloc(4 + Math.ceil(names.length / 8));
  head.writeUInt32BE(set, 0);
  const rest: number[] = [];
  for (const [bit, name] of names.entries()) {
    const value = values[name];
    if (value === undefined) continue;
    head[4 + (bit >> 3)] = (head[4 + (bit >> 3)] ?? 0) | (1 << (bit & 7));
    if (Number.isInteger(value) && value > 0 && value < 255) rest.push(value);
    else {
      const float = Buffer.alloc(4);
      float.writeFloatBE(value);
      rest.push(255, ...float);
    }
  }
  return Buffer.concat([head, Buffer.from(rest)]);
}
