import { describe, expect, test } from 'vitest';
import { newId } from '../../../../src/kernel/ids.ts';
import type { Outcomes } from '../../../../src/state/tables/outcome-table.ts';
import { table } from '../../../../src/state/tables/environment.ts';
import type { Store } from '../../../../src/state/feed/open-store.ts';
import { open, tempFolder, tempStore } from '../support.ts';

const DAY_MS = 86_400_000;
const NOW_MS = 20_000 * DAY_MS;

function outcomesOf(store: Store): Outcomes {
  if (store.outcomes === null) throw new Error('the store is open for reading only');
  return store.outcomes;
}

function rowsOf(store: Store): number {
  return store.hot === null ? 0 : [...table(store.hot, 'outcomes').getKeys()].length;
}

describe('reported outcomes', () => {
  test('A reported outcome is found at once, during and after its write, and after a restart, and the last one counts', async () => {
    const dataDir = tempFolder();
    const store = open(dataDir);
    const id = newId('req', NOW_MS);
    expect(outcomesOf(store).find(id)).toBeNull();
    outcomesOf(store).put(id, 'failed');
    expect(outcomesOf(store).find(id)).toBe('failed');
    const writing = outcomesOf(store).flush(NOW_MS);
    expect(outcomesOf(store).find(id)).toBe('failed');
    outcomesOf(store).put(id, 'succeeded');
    expect(await writing).toBeNull();
    expect(outcomesOf(store).find(id)).toBe('succeeded');
    expect(await outcomesOf(store).flush(NOW_MS)).toBeNull();
    expect(outcomesOf(store).find(id)).toBe('succeeded');
    await store.close();
    const again = open(dataDir);
    expect(outcomesOf(again).find(id)).toBe('succeeded');
    await again.close();
  });

  test('Outcomes are removed a day after their decision, a bounded number at a time', async () => {
    const store = tempStore();
    for (let n = 0; n < 600; n++) outcomesOf(store).put(newId('req', NOW_MS), 'failed');
    const late = newId('req', NOW_MS + 1);
    outcomesOf(store).put(late, 'declined');
    await outcomesOf(store).flush(NOW_MS);
    await outcomesOf(store).flush(NOW_MS + DAY_MS);
    expect(rowsOf(store)).toBe(601);
    await outcomesOf(store).flush(NOW_MS + DAY_MS + 1);
    expect(rowsOf(store)).toBe(101);
    await outcomesOf(store).flush(NOW_MS + DAY_MS + 1);
    expect(rowsOf(store)).toBe(1);
    expect(outcomesOf(store).find(late)).toBe('declined');
  });

  test('There is no outcome for an invalid id', () => {
    const store = tempStore();
    expect(outcomesOf(store).find('x')).toBeNull();
  });
});
