import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Claim, QueueAnswer, QueuedWork, WorkEnd, WorkQueue } from '../../../src/ports/work-queue-port.ts';

/** An adapter over a queue of its own, and what its work and its ends look like. */
export interface WorkQueueSubject<New, Work extends QueuedWork, Report, Reason> {
  readonly queue: WorkQueue<New, Work, Report, Reason, { readonly kind: 'fault'; readonly detail: string }>;
  /** Returns a further piece of work for a lane, with an id that is greater than those before. */
  readonly make: (lane: number) => New;
  readonly idOf: (made: New) => string;
  readonly laneOf: (lane: number) => string;
  /** Does what a consumer does before it settles work as done. */
  readonly perform: (work: Work) => Promise<void>;
  readonly report: (work: Work) => Report;
  readonly reason: Reason;
  /** Kills the process, and returns the same queue after a start. */
  readonly restart: () => Promise<WorkQueueSubject<New, Work, Report, Reason>>;
}

const START_MS = Date.UTC(2026, 10, 23, 12);

/** Tests what `src/ports/work-queue-port.ts` promises. An adapter may run in another process and answer later. */
export function describeWorkQueue<New, Work extends QueuedWork, Report, Reason>(
  adapter: string,
  open: () => Promise<WorkQueueSubject<New, Work, Report, Reason>>,
): void {
  type Subject = WorkQueueSubject<New, Work, Report, Reason>;

  async function published(subject: Subject, lanes: readonly number[], nowMs = START_MS): Promise<readonly string[]> {
    const work = lanes.map((lane) => subject.make(lane));
    valueOf(await subject.queue.publish(work, nowMs));
    return work.map((made) => subject.idOf(made));
  }

  async function claimed(
    { queue, laneOf }: Subject,
    order: {
      readonly lane?: number;
      readonly consumer?: string;
      readonly limit?: number;
      readonly nowMs?: number;
    } = {},
  ): Promise<readonly Claim<Work>[]> {
    const { lane = 1, consumer = 'one', limit = 1_000, nowMs = START_MS } = order;
    return queue.claim({ consumer, lane: laneOf(lane), limit, nowMs });
  }

  async function settle(
    { queue, report }: Subject,
    claims: readonly Claim<Work>[],
    end: WorkEnd<Reason>,
    nowMs = START_MS,
  ): Promise<readonly string[]> {
    const settled = claims.map((claim) => ({ claim, end, report: report(claim.work) }));
    return valueOf(await queue.settle(settled, nowMs));
  }

  async function done(subject: Subject, claims: readonly Claim<Work>[], nowMs = START_MS): Promise<readonly string[]> {
    for (const { work } of claims) await subject.perform(work);
    return settle(subject, claims, { kind: 'done' }, nowMs);
  }

  const ids = (claims: readonly Claim<Work>[]): readonly string[] => claims.map(({ work }) => work.id);

  describe(`the queue of work, ${adapter}`, () => {
    test('Work is claimed in the order of publishing, each piece by one consumer', async () => {
      const subject = await open();
      const all = await published(subject, [1, 1, 1, 1, 1]);
      const first = await claimed(subject, { limit: 2 });
      const second = await claimed(subject, { consumer: 'two', limit: 2 });
      const third = await claimed(subject);
      expect([ids(first), ids(second), ids(third)]).toEqual([all.slice(0, 2), all.slice(2, 4), all.slice(4)]);
      expect(await claimed(subject, { consumer: 'two' })).toEqual([]);
      expect(new Set([...first, ...second, ...third].map(({ token }) => token)).size).toBe(5);
    });

    test('Consumers that claim at the same time share the work', async () => {
      const subject = await open();
      const all = await published(
        subject,
        Array.from({ length: 40 }, () => 1),
      );
      const consumers = Array.from({ length: 8 }, (_none, n) => claimed(subject, { consumer: `c${n}`, limit: 5 }));
      const claims = (await Promise.all(consumers)).flat();
      expect(ids(claims).toSorted()).toEqual([...all].toSorted());
    });

    test('Lanes are separate, and those without unfinished work are not listed', async () => {
      const subject = await open();
      const [one, two] = await published(subject, [1, 2]);
      const { queue, laneOf } = subject;
      expect([...(await queue.lanes())].toSorted()).toEqual([laneOf(1), laneOf(2)].toSorted());
      expect(ids(await claimed(subject, { lane: 2 }))).toEqual([two]);
      const claims = await claimed(subject, { lane: 1 });
      expect([ids(claims), claims.map(({ work }) => work.lane)]).toEqual([[one], [laneOf(1)]]);
      expect(await done(subject, claims)).toEqual(['stored']);
      expect([...(await queue.lanes())]).toEqual([laneOf(2)]);
      expect(await claimed(subject, { lane: 3 })).toEqual([]);
    });

    test('Work that is published again stays as it is', async () => {
      const subject = await open();
      const made = subject.make(1);
      for (let n = 0; n < 2; n++) valueOf(await subject.queue.publish([made], START_MS));
      const claims = await claimed(subject);
      expect(ids(claims)).toEqual([subject.idOf(made)]);
      await done(subject, claims);
      valueOf(await subject.queue.publish([made], START_MS));
      expect(await claimed(subject)).toEqual([]);
    });

    test('An expired claim goes to the next consumer, and the first one can no longer settle it', async () => {
      const subject = await open();
      const { leaseMs } = subject.queue;
      const all = await published(subject, [1, 1]);
      const first = await claimed(subject);
      expect(first.map(({ untilMs }) => untilMs)).toEqual([START_MS + leaseMs, START_MS + leaseMs]);
      const almost = START_MS + leaseMs - 1;
      expect(await claimed(subject, { consumer: 'two', nowMs: almost })).toEqual([]);
      const nowMs = START_MS + leaseMs;
      const second = await claimed(subject, { consumer: 'two', nowMs });
      expect(ids(second)).toEqual(all);
      expect(await settle(subject, first, { kind: 'dead', reason: subject.reason }, nowMs)).toEqual(['lost', 'lost']);
      expect(await subject.queue.renew(first, nowMs)).toEqual([]);
      await subject.queue.release(first);
      expect(await claimed(subject, { consumer: 'three', nowMs })).toEqual([]);
      expect(await done(subject, second, nowMs)).toEqual(['stored', 'stored']);
    });

    test('An expired claim that nobody has taken can still be settled', async () => {
      const subject = await open();
      await published(subject, [1]);
      const claims = await claimed(subject);
      const nowMs = START_MS + 2 * subject.queue.leaseMs;
      expect(await done(subject, claims, nowMs)).toEqual(['stored']);
      expect(await claimed(subject, { nowMs })).toEqual([]);
    });

    test('A renewed claim lasts for another lease', async () => {
      const subject = await open();
      const { leaseMs } = subject.queue;
      const [id] = await published(subject, [1]);
      const claims = await claimed(subject);
      const [renewed] = await subject.queue.renew(claims, START_MS + leaseMs - 1);
      expect(renewed).toMatchObject({ untilMs: START_MS + 2 * leaseMs - 1, work: { id } });
      const later = { consumer: 'two', nowMs: START_MS + 2 * leaseMs - 2 };
      expect(await claimed(subject, later)).toEqual([]);
      expect(ids(await claimed(subject, { ...later, nowMs: later.nowMs + 1 }))).toEqual([id]);
    });

    test('Released work can be claimed at once, before later work', async () => {
      const subject = await open();
      const all = await published(subject, [1, 1, 1]);
      const claims = await claimed(subject, { limit: 2 });
      await subject.queue.release(claims.slice(0, 1));
      expect(ids(await claimed(subject, { consumer: 'two' }))).toEqual([all[0], all[2]]);
    });

    test('Work to be tried again is claimed from its time on, and later work does not wait for it', async () => {
      const subject = await open();
      const [one, two] = await published(subject, [1, 1]);
      const first = await claimed(subject, { limit: 1 });
      const atMs = START_MS + 5_000;
      expect(await settle(subject, first, { kind: 'retry', atMs })).toEqual(['stored']);
      expect(ids(await claimed(subject, { nowMs: atMs - 1 }))).toEqual([two]);
      expect([...(await subject.queue.lanes())]).toEqual([subject.laneOf(1)]);
      const again = await claimed(subject, { consumer: 'two', nowMs: atMs });
      expect(ids(again)).toEqual([one]);
      expect(await done(subject, again, atMs)).toEqual(['stored']);
    });

    test('Done and dead work is never claimed again, also after a restart', async () => {
      const subject = await open();
      await published(subject, [1, 1]);
      const [one, two] = await claimed(subject);
      if (one === undefined || two === undefined) throw new Error('two claims were expected');
      expect(await done(subject, [one])).toEqual(['stored']);
      expect(await settle(subject, [two], { kind: 'dead', reason: subject.reason })).toEqual(['stored']);
      expect(await settle(subject, [one, two], { kind: 'dead', reason: subject.reason })).toEqual(['lost', 'lost']);
      expect(await claimed(subject, { nowMs: START_MS + 10 * subject.queue.leaseMs })).toEqual([]);
      const after = await subject.restart();
      expect(await claimed(after, { nowMs: START_MS + 10 * after.queue.leaseMs })).toEqual([]);
      expect([...(await after.queue.lanes())]).toEqual([]);
    });

    test('A restart loses no work: what was claimed is claimed again, at the latest when its lease ends', async () => {
      const subject = await open();
      const all = await published(subject, [1, 1, 1, 1]);
      const claims = await claimed(subject, { limit: 3 });
      await done(subject, claims.slice(1, 2));
      const after = await subject.restart();
      const nowMs = START_MS + after.queue.leaseMs;
      expect(ids(await claimed(after, { consumer: 'two', nowMs }))).toEqual([all[0], all[2], all[3]]);
      const more = await published(after, [1], nowMs);
      expect(ids(await claimed(after, { consumer: 'two', nowMs }))).toEqual(more);
    });

    test('Whatever consumers do, every piece is done once, and only expired claims are lost', async () => {
      const step = fc.record({
        act: fc.constantFrom('publish', 'claim', 'claim', 'done', 'retry', 'release', 'renew', 'die', 'wait'),
        consumer: fc.constantFrom('one', 'two', 'three'),
        lane: fc.integer({ min: 1, max: 2 }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
          const subject = await open();
          const waiting = new Set<string>();
          const finished = new Set<string>();
          const held = new Map<string, readonly Claim<Work>[]>();
          let nowMs = START_MS;
          const finish = async (claims: readonly Claim<Work>[]): Promise<void> => {
            // A consumer whose claim has expired does not know it.
            const own = await subject.queue.renew(claims, nowMs);
            for (const [n, outcome] of (await done(subject, own, nowMs)).entries()) {
              expect(outcome).toBe('stored');
              const id = own[n]?.work.id ?? '';
              expect([id, finished.has(id)]).toEqual([id, false]);
              finished.add(id);
              waiting.delete(id);
            }
          };
          for (const { act, consumer, lane } of steps) {
            const claims = held.get(consumer) ?? [];
            if (act === 'publish') for (const id of await published(subject, [lane], nowMs)) waiting.add(id);
            else if (act === 'claim')
              held.set(consumer, [...claims, ...(await claimed(subject, { consumer, lane, nowMs, limit: 2 }))]);
            else if (act === 'renew') held.set(consumer, await subject.queue.renew(claims, nowMs));
            else if (act === 'wait') nowMs += Math.ceil(subject.queue.leaseMs / 2);
            else {
              held.delete(consumer);
              if (act === 'done') await finish(claims);
              else if (act === 'release') await subject.queue.release(claims);
              else if (act === 'retry') await settle(subject, claims, { kind: 'retry', atMs: nowMs + 10 }, nowMs);
            }
          }
          nowMs += 2 * subject.queue.leaseMs;
          for (const lane of [1, 2]) await finish(await claimed(subject, { consumer: 'last', lane, nowMs }));
          expect([...waiting]).toEqual([]);
        }),
        { numRuns: 30 },
      );
    });
  });
}

function valueOf<T>(answer: QueueAnswer<T, { readonly kind: 'fault'; readonly detail: string }>): T {
  if (answer.kind === 'fault') throw new Error(answer.detail);
  return answer.value;
}
