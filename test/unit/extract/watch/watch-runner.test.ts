import { describe, expect, test } from 'vitest';
import { newId } from '../../../../src/kernel/ids.ts';
import type { StateFeed } from '../../../../src/state/feed/changes.ts';
import { customer, open, tempFolder, tempStore, value } from '../../state/support.ts';
import {
  MINUTE_MS,
  SIX_CHANGES,
  versionsOfShop,
  watchBench,
  WATCH_FROM_MS,
  type WatchBench,
} from '../../../support/watches.ts';
import type { WatchId } from '../../../../src/work/watch.ts';

function shown(bench: WatchBench): readonly string[] {
  return bench.changes().map(({ kind, keyJson }) => `${kind} ${(JSON.parse(keyJson) as { id: number }).id}`);
}

/** Ticks until no run is on its way. */
async function settle(bench: WatchBench, runner = bench.runner()): Promise<void> {
  do await runner.tick();
  while (bench.watch().running !== null);
}

test('The first complete run is the baseline; then each difference is a change, and a record is gone after two absences', async () => {
  const bench = await watchBench(tempStore());
  const runner = bench.runner();
  const seen: (readonly string[])[] = [];
  for (const records of versionsOfShop()) {
    bench.records = records;
    await settle(bench, runner);
    seen.push(shown(bench));
    bench.nowMs += 5 * MINUTE_MS;
  }
  expect(seen).toEqual([[], SIX_CHANGES.slice(0, 5), SIX_CHANGES]);
  const [changed] = bench.changes();
  expect(changed).toMatchObject({ recordJson: '{"id":10,"price":11}', beforeJson: '{"price":10}', seq: 1 });
  expect(bench.changes().at(-1)).toMatchObject({ kind: 'gone', recordJson: null, beforeJson: '{"price":10}' });
});

test('Whatever step a kill interrupts, before or after its write, the six changes come once and in order', async () => {
  const [first, second] = versionsOfShop();
  for (let point = 0; point < 40; point++) {
    const store = open(tempFolder());
    let writes = 0;
    // The write of this number never happens, or happens and is never answered; then the process is started again.
    const commit = (async (...given: Parameters<StateFeed['commit']>) => {
      const isKilled = writes++ === Math.floor(point / 2);
      if (isKilled && point % 2 === 0) throw new Error('killed before the write');
      const written = await store.changes.commit(...given);
      if (isKilled) throw new Error('killed after the write');
      return written;
    }) as StateFeed['commit'];
    const killable = { changes: { commit, onCommitted: (listener: never) => store.changes.onCommitted(listener) } };
    const bench = await watchBench(store, {}, killable);
    for (const records of [first, second, second]) {
      bench.records = records ?? [];
      const runs = bench.watch().runs;
      for (let tries = 0; tries < 20 && (bench.watch().running !== null || bench.watch().runs === runs); tries++)
        await bench.runner().tick();
      bench.nowMs += 5 * MINUTE_MS;
    }
    expect([point, shown(bench)]).toEqual([point, SIX_CHANGES]);
    expect(bench.jobs.size).toBe(3);
    await store.close();
  }
});

describe('due times', () => {
  test('A day of a watch of 15 minutes, in simulated time, has 96 runs and no missed one', async () => {
    const bench = await watchBench(tempStore(), { schedule: { kind: 'every', seconds: 900 } });
    bench.records = [{ id: 1, price: 1 }];
    const runner = bench.runner();
    for (let minute = 0; minute < 24 * 60; minute++) {
      await settle(bench, runner);
      bench.nowMs += MINUTE_MS;
    }
    expect(bench.watch()).toMatchObject({ runs: 96, missedRuns: 0 });
    expect(bench.watch().last?.dueAtMs).toBe(WATCH_FROM_MS + 95 * 15 * MINUTE_MS);
  });

  test('After a stop of an hour one run stands for all due times, and the others are counted as missed', async () => {
    const bench = await watchBench(tempStore());
    await settle(bench);
    bench.nowMs += 61 * MINUTE_MS;
    await settle(bench);
    expect(bench.watch()).toMatchObject({ runs: 2, missedRuns: 11 });
    expect(bench.watch().last?.dueAtMs).toBe(WATCH_FROM_MS + 60 * MINUTE_MS);
  });

  test('No due time runs twice when the clock is set back by an hour, and the watch goes on after a jump by years', async () => {
    const bench = await watchBench(tempStore());
    const runner = bench.runner();
    bench.nowMs += 30 * MINUTE_MS;
    await settle(bench, runner);
    bench.nowMs -= 60 * MINUTE_MS;
    await settle(bench, runner);
    expect(bench.watch().runs).toBe(1);
    bench.nowMs += 5 * 365 * 24 * 60 * MINUTE_MS;
    await settle(bench, runner);
    expect(bench.watch().runs).toBe(2);
    bench.nowMs = WATCH_FROM_MS + 40 * MINUTE_MS;
    await settle(bench, runner);
    bench.nowMs += 6 * MINUTE_MS;
    await settle(bench, runner);
    expect(bench.watch().runs).toBe(3);
  });

  test('A paused watch does not run, and one of a suspended customer waits', async () => {
    const paused = await watchBench(tempStore(), { isPaused: true });
    const suspended = await watchBench(tempStore(), {}, { isSuspended: () => true });
    await paused.runner().tick();
    await suspended.runner().tick();
    expect([paused.watch().runs, suspended.watch().runs]).toEqual([0, 0]);
  });

  test('A run that was asked for starts no job while its customer is suspended', async () => {
    let isSuspended = false;
    const store = tempStore();
    const bench = await watchBench(store, {}, { isSuspended: () => isSuspended });
    const { customer: owner, id, dueAtMs } = bench.watch();
    const run = { customer: owner, id, run: 1, node: '', dueAtMs: bench.nowMs, missed: 0, nextDueAtMs: dueAtMs };
    await value(store.changes.commit({ kind: 'watch.begun', ...run }, { by: 'cli', nowMs: bench.nowMs }));
    isSuspended = true;
    const runner = bench.runner();
    await runner.tick();
    expect([bench.watch().running?.run, bench.jobs.size]).toEqual([1, 0]);
    isSuspended = false;
    await settle(bench, runner);
    expect([bench.watch().running, bench.jobs.size]).toEqual([null, 1]);
  });

  test('A step that fails is tried again after a minute, not at each tick', async () => {
    let tries = 0;
    const isSuspended = (): boolean => {
      tries++;
      throw new Error('damaged');
    };
    const bench = await watchBench(tempStore(), {}, { isSuspended });
    bench.nowMs += 5 * MINUTE_MS;
    const runner = bench.runner();
    for (let second = 0; second <= 60; second++, bench.nowMs += 1_000) await runner.tick();
    expect(tries).toBe(2);
  });
});

describe('what a run lacks', () => {
  test('An incomplete run is no baseline, and later counts no record as absent', async () => {
    const bench = await watchBench(tempStore());
    const runner = bench.runner();
    const errors = { counts: { collected: 1, target: 1, pages: 1, errors: 1, duplicates: 0 } };
    bench.records = [
      { id: 1, price: 1 },
      { id: 2, price: 1 },
    ];
    bench.job = errors;
    await settle(bench, runner);
    expect(bench.watch()).toMatchObject({ hasBaseline: false, last: { isComplete: false, notes: ['incomplete'] } });
    for (const [job, records] of [
      [{}, bench.records],
      [errors, [{ id: 1, price: 2 }]],
      [errors, [{ id: 1, price: 2 }]],
      [{}, [{ id: 1, price: 2 }]],
    ] as const) {
      bench.nowMs += 5 * MINUTE_MS;
      Object.assign(bench, { job, records });
      await settle(bench, runner);
    }
    expect(shown(bench)).toEqual(['changed 1']);
  });

  test('Records of one key count once, those without a key not, and the run has a note', async () => {
    const bench = await watchBench(tempStore());
    bench.records = [{ id: 1, price: 1 }, { id: 1, price: 2 }, { price: 3 }];
    await settle(bench);
    expect(bench.watch().last?.notes).toEqual(['duplicate_key', 'missing_key']);
    bench.nowMs += 5 * MINUTE_MS;
    await settle(bench);
    expect(shown(bench)).toEqual([]);
  });

  test('Records that cannot be read, or were removed meanwhile, end the run and are not absent', async () => {
    const bench = await watchBench(tempStore());
    bench.records = [
      { id: 1, price: 1 },
      { id: 2, price: 1 },
    ];
    await settle(bench);
    const counts = { collected: 2, target: 2, pages: 1, errors: 0, duplicates: 0 };
    for (const fault of [{ isUnreadable: true }, { isUnreadable: false, records: [{ id: 1, price: 1 }] }]) {
      for (let run = 0; run < 2; run++) {
        bench.nowMs += 5 * MINUTE_MS;
        Object.assign(bench, { job: { counts }, ...fault });
        await settle(bench);
        expect(bench.watch()).toMatchObject({ hasBaseline: true, running: null, last: { failure: 'job_removed' } });
      }
    }
    expect(shown(bench)).toEqual([]);
  });

  test('A failed job ends the run with its reason and changes nothing', async () => {
    const bench = await watchBench(tempStore());
    bench.records = [{ id: 1, price: 1 }];
    await settle(bench);
    bench.nowMs += 5 * MINUTE_MS;
    bench.job = { status: 'failed', failure: { reason: 'source_unavailable', retryable: true } };
    bench.records = [];
    await settle(bench);
    expect(bench.watch()).toMatchObject({ hasBaseline: true, last: { failure: 'source_unavailable' } });
    expect(shown(bench)).toEqual([]);
  });
});

describe('several nodes', () => {
  test('One of two nodes runs a due time, and a run of a dead node is taken over with its job', async () => {
    const store = tempStore();
    let isDead = false;
    const bench = await watchBench(store, {}, { node: 'one', isAlive: () => !isDead });
    bench.job = { status: 'running' };
    const one = bench.runner();
    const twin = await watchBench(store, { id: bench.id }, { node: 'two', isAlive: () => !isDead });
    twin.job = bench.job;
    const two = twin.runner();
    await Promise.all([one.tick(), two.tick()]);
    expect(bench.jobs.size + twin.jobs.size).toBe(1);
    const { node, job } = bench.watch().running ?? {};
    expect(bench.watch().runs).toBe(1);
    isDead = true;
    const [other, name] = node === 'one' ? [two, 'two'] : [one, 'one'];
    await other.tick();
    expect(bench.watch().running).toMatchObject({ node: name, job });
  });
});

test('A removed watch, and a changed key, leave rows that are removed later', async () => {
  const store = tempStore();
  const bench = await watchBench(store);
  bench.records = [{ id: 1, price: 1 }];
  await settle(bench);
  expect(store.watches.unneeded(100)).toHaveLength(0);
  const at = { by: 'cli', nowMs: bench.nowMs } as const;
  const { customer: owner, id } = bench.watch();
  await store.changes.commit(
    { kind: 'watch.changed', customer: owner, id, change: { key: ['price'] }, resets: true },
    at,
  );
  const keys = store.watches.unneeded(100);
  expect(keys).toHaveLength(1);
  const removed = await store.changes.commit({ kind: 'rows.expired', table: 'watchSeen', keys }, at);
  expect(removed).toMatchObject({ value: 1 });
  expect(bench.watch().hasBaseline).toBe(false);
});

test('The 101st watch of a customer is refused, and another customer has its own hundred', async () => {
  const store = tempStore();
  const bench = await watchBench(store);
  const create = (owner: number) => {
    const watch = { ...bench.watch(), id: newId('wat', bench.nowMs) as WatchId, customer: customer(owner) };
    return value(store.changes.commit({ kind: 'watch.created', watch }, { by: 'cli', nowMs: bench.nowMs }));
  };
  const made = await Promise.all(Array.from({ length: 100 }, () => create(1)));
  expect(made.filter((outcome) => outcome === 'created')).toHaveLength(99);
  expect([made.at(-1), await create(2)]).toEqual(['limit_reached', 'created']);
});

describe('fields of an extraction that are not found any more', () => {
  const shop = (prices: number, records = 20): readonly object[] =>
    Array.from({ length: records }, (_none, n) => ({
      id: n,
      title: 'Cup',
      price: n < prices ? 5 : null,
      tags: n < prices ? ['new'] : [],
    }));
  const select = { operation: 'page.select' as const };

  /** Runs once for each number of records with a price; returns what each run notes. */
  async function noted(versions: readonly (readonly object[])[], job: object = select): Promise<readonly string[]> {
    const bench = await watchBench(tempStore());
    const runner = bench.runner();
    const found: string[] = [];
    for (const records of versions) {
      Object.assign(bench, { records, job });
      await settle(bench, runner);
      const { notes = [], drifted = [] } = bench.watch().last ?? {};
      found.push([...notes, ...drifted].join(' '));
      bench.nowMs += 5 * MINUTE_MS;
    }
    return found;
  }

  test('A field that was rarely null and now mostly is, is named in each run until it is found again', async () => {
    const drifted = 'selector_drift price tags';
    expect(await noted([shop(16), shop(8), shop(0), shop(20), shop(16)])).toEqual(['', drifted, drifted, '', '']);
    expect(await noted([shop(20), shop(9)])).toEqual(['', '']);
    // A field that was often null is no sign, however it changes.
    expect(await noted([shop(15), shop(0), shop(0)])).toEqual(['', '', '']);
  });

  test('Runs of fewer than ten records, incomplete ones and other operations say nothing, and change nothing', async () => {
    expect(await noted([shop(20), shop(0, 9), shop(20), shop(0)])).toEqual(['', '', '', 'selector_drift price tags']);
    expect(await noted([shop(9, 9), shop(0)])).toEqual(['', '']);
    expect(await noted([shop(20), shop(0)], { operation: 'page.article' })).toEqual(['', '']);
    const bench = await watchBench(tempStore());
    const runner = bench.runner();
    const errors = { counts: { collected: 20, target: 20, pages: 1, errors: 1, duplicates: 0 } };
    for (const [records, job] of [
      [shop(20), select],
      [shop(0), { ...select, ...errors }],
    ] as const) {
      Object.assign(bench, { records, job });
      await settle(bench, runner);
      bench.nowMs += 5 * MINUTE_MS;
    }
    expect(bench.watch().last?.notes).toEqual(['incomplete']);
    expect(bench.watch().nullShares).toEqual({ id: 0, title: 0, price: 0, tags: 0 });
  });

  test('A run that finds no record any more names all fields, and one that never found any names none', async () => {
    const all = 'selector_drift id title price tags';
    expect(await noted([shop(20), [], [], shop(20)])).toEqual(['', all, all, '']);
    expect(await noted([[], shop(0, 9), []])).toEqual(['', '', '']);
  });

  test('A changed extraction is compared with nothing from before', async () => {
    const store = tempStore();
    const bench = await watchBench(store);
    Object.assign(bench, { records: shop(20), job: select });
    await settle(bench);
    const { customer: owner, id } = bench.watch();
    const changed = { kind: 'watch.changed', customer: owner, id, change: {}, resets: true } as const;
    await value(store.changes.commit(changed, { by: 'cli', nowMs: bench.nowMs }));
    bench.nowMs += 5 * MINUTE_MS;
    bench.records = shop(0);
    await settle(bench);
    expect(bench.watch().last).toMatchObject({ notes: [], drifted: [] });
  });
});
