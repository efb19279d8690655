import { describe, expect, test } from 'vitest';
import { hashOf, tempStore, value } from './support.ts';

const DAY = 86_400;

describe('registry', () => {
  test('an entry comes back as stored, and with its half-life on the hot path', async () => {
    const { registry } = tempStore();
    const entry = { fingerprintHash: hashOf(1), risk: 87.3, customers: 3, firstSeenSeconds: 5, lastSeenSeconds: 1000 };
    await value(registry.put(entry));
    expect(registry.get(hashOf(1))).toEqual(entry);
    expect(registry.find(hashOf(1), 1000)?.customers).toBe(3);
    expect(registry.find(hashOf(1), 1000)?.risk).toBeCloseTo(87.3, 4);
    expect(registry.find(hashOf(1), 1000 + 21 * DAY)?.risk).toBeCloseTo(43.65, 4);
    expect(registry.find(hashOf(2), 1000)).toBeNull();
  });

  test('many entries are written at once, replaced and removed', async () => {
    const { registry } = tempStore();
    const entries = Array.from({ length: 3000 }, (_, i) => ({
      fingerprintHash: hashOf(i * 7919),
      risk: i % 101,
      customers: i,
      firstSeenSeconds: i,
      lastSeenSeconds: i + 1,
    }));
    await value(registry.putMany(entries));
    expect(registry.count()).toBe(3000);
    for (const entry of entries) expect(registry.get(entry.fingerprintHash)).toEqual(entry);
    await value(
      registry.put({
        ...entries[7],
        fingerprintHash: hashOf(0),
        risk: 1,
        customers: 9,
        firstSeenSeconds: 0,
        lastSeenSeconds: 0,
      }),
    );
    expect(registry.get(hashOf(0))?.customers).toBe(9);
    expect(await value(registry.remove(hashOf(0)))).toBe(true);
    expect(await value(registry.remove(hashOf(0)))).toBe(false);
    expect(registry.count()).toBe(2999);
  });
});
