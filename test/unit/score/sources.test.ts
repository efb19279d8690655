import { describe, expect, test } from 'vitest';
import { createSources } from '../../../src/score/sources.ts';
import { customer, hashOf, open, tempFolder } from '../state/support.ts';
import { listsOf, writesOf } from '../../support/writes.ts';

const GEO = { lookup: () => null, epoch: () => 0, crawlers: () => new Set<string>() };

function threeTimes(value: readonly unknown[]): readonly unknown[] {
  return Array.from({ length: 3 }, () => value);
}

describe('the sources of a worker', () => {
  test('A first entry counts from the next batch on, for every look-up', async () => {
    const folder = tempFolder();
    const writer = open(folder);
    const reader = open(folder, true);
    const opened = createSources(reader, GEO);
    const { sources } = opened;
    const found = (): readonly unknown[] => {
      opened.begin();
      return Array.from({ length: 3 }, () => [
        sources.findList(customer(1), hashOf(1), 1, 'login')?.toString() ?? null,
        sources.findRegistry(hashOf(1), 1)?.customers ?? null,
      ]);
    };
    for (let batch = 0; batch < 3; batch++) expect(found()).toEqual(threeTimes([null, null]));
    const change = { fingerprintHash: hashOf(1), action: 'block', note: null, expiresAtSeconds: null } as const;
    await listsOf(writer).put(customer(1), change, 1);
    expect(found()).toEqual(threeTimes(['block', null]));
    const entry = { fingerprintHash: hashOf(1), risk: 80, customers: 3, firstSeenSeconds: 1, lastSeenSeconds: 1 };
    await writesOf(writer).registry.put(entry);
    expect(found()).toEqual(threeTimes(['block', 3]));
    await listsOf(writer).remove(customer(1), hashOf(1), 1);
    for (let batch = 0; batch < 300; batch++) expect(found()).toEqual(threeTimes([null, 3]));
    await listsOf(writer).put(customer(1), change, 1);
    expect(found()).toEqual(threeTimes(['block', 3]));
    expect(opened.takeStoreFailure()).toBe(false);
    await reader.close();
    await writer.close();
  });
});
