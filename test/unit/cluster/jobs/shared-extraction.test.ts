import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { JobLog } from '../../../../src/cluster/jobs/job-log.ts';
import { encodeOp } from '../../../../src/cluster/jobs/job-ops.ts';
import { decodeFirst } from '../../../../src/extract/base/first-answer.ts';
import type { NewExtraction } from '../../../../src/extract/base/jobs-port.ts';
import { encrypt } from '../../../../src/kernel/encryption.ts';
import type { Extraction } from '../../../../src/work/extraction-job.ts';
import { newExtraction } from '../../../support/extraction-jobs.ts';
import { withOwnClock } from '../../../support/own-clock.ts';
import { linkTo } from '../../../support/links.ts';
import { type RedisServer, startRedis } from '../../../support/redis.ts';
import { CLUSTER_KEY, SharedNode, type SharedNodeOptions } from '../../../support/shared-extraction.ts';
import { ask, withSend } from '../../../support/store-links.ts';
import { customer, tempFolder } from '../../state/support.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(() => redis.flush());

const me = customer(1);
const LIVE = { timeout: 10_000, interval: 5 };

function open(node: string, options: Partial<SharedNodeOptions> = {}): Promise<SharedNode> {
  return SharedNode.open({ url: redis.url, node, ...options });
}

async function openAll(...names: readonly string[]): Promise<readonly [SharedNode, SharedNode, SharedNode]> {
  const [first, second, third] = await Promise.all(names.map((name) => open(name)));
  if (first === undefined || second === undefined || third === undefined) throw new Error('three names were expected');
  for (const node of [first, second, third]) node.setNodes(...names);
  return [first, second, third];
}

async function create(node: SharedNode, overrides: Partial<NewExtraction> = {}): Promise<Extraction> {
  const made = await node.engine.writes.create(newExtraction(overrides));
  if (made.kind !== 'created') throw new Error(made.kind);
  return made.job;
}

const holds = (node: SharedNode, key: string) =>
  expect.poll(() => node.steps.map((step) => step.key), LIVE).toContain(key);

async function jobAt(node: SharedNode, id: Extraction['id']): Promise<Extraction | null> {
  await node.engine.caughtUp();
  return node.reading.find(me, id);
}

const statusAt = (node: SharedNode, id: Extraction['id']) =>
  expect.poll(async () => (await jobAt(node, id))?.status, LIVE);

describe('jobs on three nodes', () => {
  test('A job made on one node runs there, and its records are the same pages on every node', async () => {
    const nodes = await openAll('a', 'b', 'c');
    const [a, b, c] = nodes;
    const { id } = await create(a, { collect: { mode: 'all' } });
    await holds(a, 'first');
    const ids = Array.from({ length: 700 }, (_none, n) => `r${n}`);
    a.answer('first', { ids, next: ['second'] });
    await holds(a, 'second');
    a.answer('second', { ids: ['r5', 'last'] });
    await statusAt(a, id).toBe('succeeded');
    for (const node of nodes) {
      expect(await node.recordsOf(me, id)).toEqual([...ids, 'last']);
      expect((await jobAt(node, id))?.counts).toMatchObject({ collected: 701, duplicates: 1, pages: 2 });
    }
    expect([b.steps, c.steps]).toEqual([[], []]);
    expect(await jobAt(b, id)).toEqual(await jobAt(a, id));
  });

  test('What one node answered can be read on another one at once', async () => {
    const [a, b] = await openAll('a', 'b', 'c');
    for (let n = 0; n < 20; n++) {
      const { id } = await create(n % 2 === 0 ? a : b);
      expect((await jobAt(n % 2 === 0 ? b : a, id))?.id).toBe(id);
    }
  });

  test('A job is cancelled through any node: its own node stops it, and late results are not taken', async () => {
    const [a, b] = await openAll('a', 'b', 'c');
    const { id } = await create(a);
    await holds(a, 'first');
    expect(await b.engine.writes.cancel(me, id)).toMatchObject({ kind: 'cancelled', job: { id } });
    await expect.poll(() => a.ended, LIVE).toEqual([id]);
    a.answer('first', { ids: ['late'] });
    expect(await a.recordsOf(me, id)).toEqual([]);
    expect(await b.engine.writes.cancel(me, id)).toMatchObject({ kind: 'ended' });
    expect(await a.engine.writes.cancel(customer(2), id)).toEqual({ kind: 'not_found' });
  });

  test('Requests with one Idempotency-Key on two nodes at the same time create one job', async () => {
    const [a, b, c] = await openAll('a', 'b', 'c');
    const idempotency = { key: 'k', bodySha256: Buffer.alloc(32, 1), newSecret: 'whsec_a' };
    const made = await Promise.all([a, b].map(({ engine }) => engine.writes.create(newExtraction({ idempotency }))));
    expect(made.map(({ kind }) => kind).toSorted()).toEqual(['created', 'replay']);
    const created = made.flatMap((one) => (one.kind === 'created' ? [one.job.id] : []));
    const replayed = made.flatMap((one) => (one.kind === 'replay' ? [decodeFirst(one.answer).id] : []));
    expect(replayed).toEqual(created);
    await c.engine.caughtUp();
    expect(c.reading.findIdempotent(me, idempotency)).toMatchObject({ kind: 'replay' });
    expect((await c.engine.writes.create(newExtraction({ idempotency }))).kind).toBe('replay');
  });

  test('A session made on one node is used by a job on another, and removed for all through a third', async () => {
    const [a, b, c] = await openAll('a', 'b', 'c');
    const made = await a.engine.writes.sessions.create({
      customer: me,
      session: { host: 'shop.example', cookies: [], headers: {} },
      expiresAtMs: null,
    });
    if (made.kind !== 'created') throw new Error(made.kind);
    await b.engine.caughtUp();
    await create(b, { session: made.session.id });
    await holds(b, 'first');
    expect(await c.engine.writes.sessions.remove(me, made.session.id)).toEqual({ kind: 'removed' });
    await a.engine.caughtUp();
    expect(a.reading.sessions.find(me, made.session.id)).toBeNull();
  });

  test('A job made on a node that runs none is run by another one', async () => {
    const api = await open('api', { runsJobs: false });
    const runner = await open('runner');
    const nodes = [{ id: 'api', runsJobs: false }, 'runner'] as const;
    api.setNodes(...nodes);
    runner.setNodes(...nodes);
    const { id } = await create(api);
    await holds(runner, 'first');
    runner.answer('first', { ids: ['x'] });
    await statusAt(api, id).toBe('succeeded');
    expect(await api.recordsOf(me, id)).toEqual(['x']);
    expect(api.steps).toEqual([]);
    expect(runner.engine.state().figures.takenOver).toBe(0);
  });
});

describe('a node that dies', () => {
  test('Its running job goes on after its last stored step, on one node, and no record is doubled or missing', async () => {
    const [a, b, c] = await openAll('a', 'b', 'c');
    const { id } = await create(a, { collect: { mode: 'all' } });
    await holds(a, 'first');
    a.answer('first', { ids: ['1', '2'], next: ['left', 'right'] });
    await holds(a, 'right');
    a.answer('left', { ids: ['3'] });
    await expect.poll(() => b.recordsOf(me, id), LIVE).toEqual(['1', '2', '3']);
    await a.disconnect();
    for (const node of [b, c]) node.setNodes('b', 'c');
    await expect.poll(() => [...b.steps, ...c.steps].map(({ key }) => key), LIVE).toEqual(['right']);
    const heir = b.steps.length > 0 ? b : c;
    for (const node of [b, c]) expect(node.engine.state().figures.takenOver).toBe(node === heir ? 1 : 0);
    heir.answer('right', { ids: ['3', '4'] });
    for (const node of [b, c]) {
      await statusAt(node, id).toBe('succeeded');
      expect(await node.recordsOf(me, id)).toEqual(['1', '2', '3', '4']);
    }
    expect([...b.steps, ...c.steps]).toEqual([]);
  });

  test('A node that was only taken for dead stores nothing more for the job, and stops working on it', async () => {
    const [a, b, c] = await openAll('a', 'b', 'c');
    const { id } = await create(a, { collect: { mode: 'all' } });
    await holds(a, 'first');
    for (const node of [b, c]) node.setNodes('b', 'c');
    await expect.poll(() => [...b.steps, ...c.steps].map(({ key }) => key), LIVE).toEqual(['first']);
    // It answers at the same time as the new owner.
    const heir = b.steps.length > 0 ? b : c;
    a.answer('first', { ids: ['of-a'], next: ['more-of-a'] });
    heir.answer('first', { ids: ['of-heir'] });
    await statusAt(heir, id).toBe('succeeded');
    for (const node of [a, b, c]) expect(await node.recordsOf(me, id)).toEqual(['of-heir']);
    expect(a.steps).toEqual([]);
    expect(a.engine.state().figures).toMatchObject({ running: 0 });
  });

  test('Queued jobs are taken over too, and the queue of the new owner goes on', async () => {
    const [a, b, c] = await openAll('a', 'b', 'c');
    const jobs: Extraction[] = [];
    for (let n = 0; n < 13; n++) jobs.push(await create(a));
    await expect.poll(() => a.steps.length, LIVE).toBe(10);
    await a.disconnect();
    for (const node of [b, c]) node.setNodes('b', 'c');
    let done = 0;
    await expect
      .poll(() => {
        for (const node of [b, c]) for (const { key } of node.steps.slice()) node.answer(key, { ids: [`r${done++}`] });
        return b.ended.length;
      }, LIVE)
      .toBe(13);
    expect(done).toBe(13);
    for (const { id } of jobs) expect((await b.recordsOf(me, id))?.length).toBe(1);
  });

  test('A node that is back within the time of its membership continues its own jobs', async () => {
    const a = await open('a');
    a.setNodes('a');
    const { id } = await create(a);
    await holds(a, 'first');
    await a.stop();
    const again = await open('a', { folder: a.folder });
    again.setNodes('a');
    await holds(again, 'first');
    again.answer('first', { ids: ['x'] });
    await statusAt(again, id).toBe('succeeded');
    expect(await again.recordsOf(me, id)).toEqual(['x']);
  });

  test('A node that is back later has what happened without it, and none of the jobs that others took', async () => {
    const [a, b, c] = await openAll('a', 'b', 'c');
    const { id } = await create(a, { collect: { mode: 'all' } });
    await holds(a, 'first');
    await a.stop();
    for (const node of [b, c]) node.setNodes('b', 'c');
    await expect.poll(() => b.steps.length + c.steps.length, LIVE).toBe(1);
    const heir = b.steps.length > 0 ? b : c;
    heir.answer('first', { ids: ['1', '2'] });
    await statusAt(heir, id).toBe('succeeded');
    const again = await open('a', { folder: a.folder });
    expect(await again.recordsOf(me, id)).toEqual(['1', '2']);
    expect(again.steps).toEqual([]);
  });
});

describe('the shared store', () => {
  test('A job that is made before the first connection waits for it', async () => {
    const a = await open('a', { isConnected: false, isStarted: false });
    const made = a.engine.writes.create(newExtraction());
    await a.start();
    expect(await made).toMatchObject({ kind: 'created' });
  });

  test('While it does not answer, a job is refused, and running jobs keep their results until it is back', async () => {
    const own = await startRedis();
    onTestFinished(() => own.stop());
    const a = await SharedNode.open({ url: own.url, node: 'a' });
    a.setNodes('a');
    const { id } = await create(a, { collect: { mode: 'all' } });
    await holds(a, 'first');
    await own.kill();
    a.answer('first', { ids: ['kept'], next: ['second'] });
    expect(await a.engine.writes.create(newExtraction())).toMatchObject({
      kind: 'fault',
      code: expect.stringMatching(/^(cluster_unavailable|change_unconfirmed)$/) as string,
    });
    await own.restart();
    await holds(a, 'second');
    a.answer('second', { ids: ['more'] });
    await statusAt(a, id).toBe('succeeded');
    expect(await a.recordsOf(me, id)).toEqual(['kept', 'more']);
  });

  test('A node that missed entries which are no longer kept, and a new one, take all jobs from another node', async () => {
    const logBytesMax = 20_000;
    const [a, b] = await Promise.all([open('a', { logBytesMax }), open('b', { logBytesMax })]);
    for (const node of [a, b]) node.setNodes('a', 'b');
    const running = await create(a, { collect: { mode: 'all' } });
    await holds(a, 'first');
    a.answer('first', { ids: ['1', '2'], next: ['second'] });
    await holds(a, 'second');
    const own = await create(b, { collect: { mode: 'all' } });
    await holds(b, 'first');
    b.answer('first', { ids: ['x'], next: ['own'] });
    await holds(b, 'own');
    expect(await a.recordsOf(me, own.id)).toEqual(['x']);
    await b.stop();
    const jobs: Extraction[] = [];
    for (let n = 0; n < 60; n++) jobs.push(await create(a));
    a.answer('second', { ids: ['3'] });
    await statusAt(a, running.id).toBe('succeeded');
    const again = await open('b', { folder: b.folder, logBytesMax });
    const fresh = await open('c', { logBytesMax });
    for (const node of [a, again, fresh]) node.setNodes('a', 'b', 'c');
    for (const node of [again, fresh]) {
      expect(node.gaps.length).toBe(1);
      expect(await node.recordsOf(me, running.id)).toEqual(['1', '2', '3']);
      for (const { id } of jobs) expect((await jobAt(node, id))?.id).toBe(id);
      expect(await node.engine.caughtUp()).toBe(true);
    }
    // Its own job goes on where it was.
    await holds(again, 'own');
    again.answer('own', { ids: ['y'] });
    await statusAt(fresh, own.id).toBe('succeeded');
    expect(await fresh.recordsOf(me, own.id)).toEqual(['x', 'y']);
    const later = await create(a);
    for (const node of [again, fresh]) expect((await jobAt(node, later.id))?.id).toBe(later.id);
  });

  test('A new node whose clock is ten minutes behind takes all jobs from another node', async () => {
    const a = await open('a', { logBytesMax: 20_000 });
    const jobs: Extraction[] = [];
    for (let n = 0; n < 60; n++) jobs.push(await create(a));
    const late = await withOwnClock(-600_000, () => open('b', { logBytesMax: 20_000 }));
    expect(late.gaps.length).toBe(1);
    for (const { id } of jobs) expect((await jobAt(late, id))?.id).toBe(id);
  });

  test('Without a node that has the missed jobs, a node drops its unfinished ones, says so, and follows later entries', async () => {
    const logBytesMax = 20_000;
    const [a, b] = await Promise.all([open('a', { logBytesMax }), open('b', { logBytesMax })]);
    for (const node of [a, b]) node.setNodes('a', 'b');
    const lost = await create(a);
    expect((await jobAt(b, lost.id))?.id).toBe(lost.id);
    await b.stop();
    for (let n = 0; n < 60; n++) await create(a);
    await a.stop();
    const again = await open('b', { folder: b.folder, logBytesMax });
    expect(again.gaps.length).toBe(1);
    expect(await jobAt(again, lost.id)).toBeNull();
    expect(await again.engine.caughtUp()).toBe(false);
    const later = await create(again);
    expect((await jobAt(again, later.id))?.id).toBe(later.id);
  }, 30_000);

  /** Returns the number of the newest entry; 0 without one. */
  async function newestEntry(): Promise<number> {
    const rows = await redis.command('XREVRANGE', '{gh:x}:log', '+', '-', 'COUNT', '1');
    return Number.parseInt((rows as readonly (readonly [string])[])[0]?.[0] ?? '0', 10);
  }

  /** Makes the store lose its newest entries, as when a replica takes over that did not have them yet. */
  const loseEntries = (count: number): Promise<unknown> =>
    redis.command(
      'EVAL',
      `local rows = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', ARGV[1])
      for _, row in ipairs(rows) do redis.call('XDEL', KEYS[1], row[1]) end
      local last = string.match(rows[#rows][1], '^%d+') - 1
      redis.call('XSETID', KEYS[1], string.format('%.0f-0', last))
      return last`,
      '1',
      '{gh:x}:log',
      String(count),
    );

  test('Entries that the store has lost are put back under their numbers by the nodes that applied them', async () => {
    const [a, b, c] = await openAll('a', 'b', 'c');
    const jobs = [await create(a), await create(b), await create(c)];
    for (const node of [a, b, c]) await node.engine.caughtUp();
    const last = await newestEntry();
    await loseEntries(3);
    await expect.poll(newestEntry, LIVE).toBe(last);
    const fresh = await open('d');
    for (const { id } of jobs) expect((await jobAt(fresh, id))?.id).toBe(id);
    const later = await create(a);
    for (const node of [b, c, fresh]) expect((await jobAt(node, later.id))?.id).toBe(later.id);
    const putBack = [a, b, c].map(({ engine }) => engine.state().figures.shared?.putBack ?? 0);
    expect(putBack.reduce((sum, one) => sum + one)).toBeGreaterThanOrEqual(3);
    expect([a, b, c, fresh].flatMap(({ gaps }) => gaps)).toEqual([]);
  });

  test('A restarted node puts no entries back, but the numbers go on above its position, and others take its jobs', async () => {
    const [one, other] = [tempFolder(), tempFolder()];
    const a = await open('a', { folder: one, runsJobs: false });
    const b = await open('b', { folder: other, runsJobs: false });
    await create(a);
    await b.engine.caughtUp();
    await b.stop();
    const missed = [await create(a), await create(a)];
    await a.stop();
    await redis.command('DEL', '{gh:x}:log', '{gh:x}:meta');
    const again = await open('a', { folder: one, runsJobs: false });
    await expect.poll(newestEntry, LIVE).toBeGreaterThan(0);
    const behind = await open('b', { folder: other, runsJobs: false });
    for (const { id } of missed) await statusAt(behind, id).toBe('queued');
    const later = await create(behind);
    await statusAt(again, later.id).toBe('queued');
  });

  test('A node whose newest entry was lost and whose number others have used takes their jobs, and applies nothing twice', async () => {
    const a = await open('a', { runsJobs: false });
    const kept = await create(a);
    const lost = await create(a);
    expect((await jobAt(a, lost.id))?.id).toBe(lost.id);
    const number = await newestEntry();
    const [link, reader] = [await linkTo(redis.url), await linkTo(redis.url)];
    await redis.command(
      'EVAL',
      `local rows = redis.call('XREVRANGE', KEYS[1], '+', '-')
      redis.call('DEL', KEYS[1])
      for at = #rows, 2, -1 do redis.call('XADD', KEYS[1], rows[at][1], unpack(rows[at][2])) end
      return #rows`,
      '1',
      '{gh:x}:log',
    );
    const other = new JobLog({ link, reader, key: CLUSTER_KEY });
    const entry = encodeOp({ node: 'c', run: 'c', serial: 1, nowMs: Date.now() }, { kind: 'begin', jobs: [] });
    expect(await other.append(entry, number - 1, null)).toEqual({ kind: 'ok', number });
    await Promise.all([link.close(), reader.close()]);
    const b = await open('b');
    await expect.poll(() => a.gaps.length, LIVE).toBe(1);
    await expect.poll(() => a.engine.caughtUp(), LIVE).toBe(true);
    expect(await jobAt(a, lost.id)).toBeNull();
    for (const node of [a, b]) expect((await jobAt(node, kept.id))?.id).toBe(kept.id);
    const later = await create(b);
    expect((await jobAt(a, later.id))?.id).toBe(later.id);
  });

  test('Entries that are written again, changed or made up do nothing, and jobs go on', async () => {
    const [a, b, c] = await openAll('a', 'b', 'c');
    const { id } = await create(a, { collect: { mode: 'all' } });
    await holds(a, 'first');
    a.answer('first', { ids: ['r1'], next: ['second'] });
    await holds(a, 'second');
    await b.engine.writes.cancel(me, id);
    await statusAt(c, id).toBe('failed');
    const [log, meta] = ['{gh:x}:log', '{gh:x}:meta'];
    const link = await linkTo(redis.url);
    const rows = (await ask(link, 'XRANGE', log, '-', '+')) as unknown as readonly [Buffer, readonly Buffer[]][];
    expect(rows.length).toBeGreaterThanOrEqual(4);
    const last = Number.parseInt(String(rows.at(-1)?.[0]), 10);
    // Copies behind the end, one of them far behind; then numbers that are too small, too large, or none.
    for (const [n, [, fields]] of rows.entries())
      await ask(link, 'XADD', log, `${last + 1 + n * (n === rows.length - 1 ? 1_000_000 : 1)}-0`, ...fields);
    for (const claimed of ['1', '4294967295', '999999999999999', 'text', 'nan', '1.5', '-inf']) {
      await ask(link, 'HSET', meta, 'last', claimed, 'jobs', claimed);
      await ask(link, 'XADD', log, '*', 'a', 'b');
      const next = await create(b);
      await statusAt(a, next.id).toBe('running');
      await b.engine.writes.cancel(me, next.id);
      for (const node of [a, b, c]) await statusAt(node, next.id).toBe('failed');
    }
    for (const node of [a, b, c]) {
      await statusAt(node, id).toBe('failed');
      expect([await node.recordsOf(me, id), node.gaps, node.faults]).toEqual([['r1'], [], []]);
    }
    const refused = [a, b, c].map(({ engine }) => engine.state().figures.shared?.refused ?? 0);
    expect(refused.reduce((sum, one) => sum + one)).toBeGreaterThanOrEqual(rows.length);
    await link.close();
  });

  test('Numbers that only the store claims make no gap, and an entry that no table has room for is left out', async () => {
    const [a, b, c] = await openAll('a', 'b', 'c');
    const { id } = await create(a, { collect: { mode: 'all' } });
    await holds(a, 'first');
    const [log, meta] = ['{gh:x}:log', '{gh:x}:meta'];
    const link = await linkTo(redis.url);
    const position = a.store.counters.get('jobLog');
    await ask(link, 'HSET', meta, 'last', String(position + 1_000), 'bytes', '-5');
    const first = await create(b);
    for (const node of [a, b, c]) await statusAt(node, first.id).toBe('running');
    const number = a.store.counters.get('jobLog') + 1;
    const job = 2 ** 32 + 5;
    const entry = encodeOp({ node: 'd', run: 'run', serial: 1, nowMs: Date.now() }, { kind: 'claim', jobs: [] });
    await ask(
      link,
      'XADD',
      log,
      `${number}-0`,
      'j',
      String(job),
      'v',
      encrypt(CLUSTER_KEY, entry, `${log}/${number}/${job}`),
    );
    const second = await create(b);
    for (const node of [a, b, c]) {
      await statusAt(node, second.id).toBe('running');
      await statusAt(node, id).toBe('running');
      expect([node.gaps, node.faults, node.engine.state().figures.shared?.refused]).toEqual([[], [], 1]);
    }
    await link.close();
  });

  test('A copy between two numbers does not stop the log, and a broken count of its bytes repeats no entry', async () => {
    const [a, b, c] = await openAll('a', 'b', 'c');
    const { id } = await create(a);
    await statusAt(c, id).toBe('running');
    const [log, meta] = ['{gh:x}:log', '{gh:x}:meta'];
    const link = await linkTo(redis.url);
    const number = await newestEntry();
    const [row] = (await ask(link, 'XREVRANGE', log, '+', '-', 'COUNT', '1')) as unknown as [[Buffer, Buffer[]]];
    await ask(link, 'XADD', log, `${number}-1`, ...row[1]);
    const first = await create(b);
    for (const node of [a, b, c]) await statusAt(node, first.id).toBe('running');
    for (const claimed of ['text', '9223372036854775807', '1e30']) {
      await ask(link, 'HSET', meta, 'bytes', claimed);
      const before = await newestEntry();
      const next = await create(b);
      // Its creation and its begin.
      await statusAt(c, next.id).toBe('running');
      expect((await newestEntry()) - before).toBe(2);
    }
    for (const node of [a, b, c]) expect([node.gaps, node.faults]).toEqual([[], []]);
    await link.close();
  });

  test('A newest id that no entry has does not stop the log', async () => {
    const [a, b, c] = await openAll('a', 'b', 'c');
    const { id } = await create(a);
    await statusAt(c, id).toBe('running');
    await redis.command('XSETID', '{gh:x}:log', '18446744073709551615-18446744073709551615');
    const next = await create(b);
    for (const node of [a, b, c]) await statusAt(node, next.id).toBe('running');
    expect([a, b, c].flatMap(({ gaps }) => gaps)).toEqual([]);
  });

  test('Removing an entry that no node has written spares one that stands there by now', async () => {
    const link = await linkTo(redis.url);
    const [log] = ['{gh:x}:log'];
    // Between reading the entry and removing it, another node has written its own there.
    const later = withSend(link, async (commands, ms) => {
      if (String(commands[0]?.args[1]).includes('sha1hex')) {
        await ask(link, 'DEL', log);
        await ask(link, 'XADD', log, '1-0', 'j', '0', 'v', 'genuine');
      }
      return await link.send(commands, ms);
    });
    await ask(link, 'XADD', log, '1-0', 'j', '0', 'v', 'made up');
    const jobs = new JobLog({ link: later, reader: link, key: CLUSTER_KEY });
    expect([await jobs.headAt(0), jobs.refused]).toEqual([null, 1]);
    expect(JSON.stringify(await redis.command('XRANGE', log, '-', '+'))).toContain('genuine');
    await link.close();
  });

  test('It sees no plain text of jobs', async () => {
    const a = await open('a');
    a.setNodes('a');
    await create(a, { input: { topic: 'a-very-secret-topic' } });
    const entries = JSON.stringify(await redis.command('XRANGE', '{gh:x}:log', '-', '+'));
    expect(entries).not.toContain('a-very-secret-topic');
  });
});
