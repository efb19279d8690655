import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  RATE_VISITOR_MIN,
  RATE_VISITOR_SHARE,
  RATE_WINDOW_SECONDS,
  REPLAY_KEEP_SECONDS,
  TIMESTAMP_WINDOW_SECONDS,
} from '../../../src/kernel/limits.ts';
import type {
  Admission,
  AdmissionRequest,
  AdmittedId,
  RateState,
  RateWindowName,
  AdmissionVerdict,
} from '../../../src/ports/admission.ts';

/** An adapter over a store of its own. */
export interface AdmissionSubject {
  readonly admission: Admission;
  /** Moves the store's clock forward, and lets it forget what has expired by then. */
  advanceTo(nowSeconds: number): void | Promise<void>;
  /** Makes durable what `stage` has collected, as the journal does before a batch is answered. */
  commit(): void | Promise<void>;
  /** Kills the process and returns the same store after a start. */
  restart(): AdmissionSubject | Promise<AdmissionSubject>;
}

/** Opens an empty store with room for this many request ids, whose clock stands at `START_SECONDS`. */
export type AdmissionFactory = (idsMax: number) => AdmissionSubject | Promise<AdmissionSubject>;

/** The start of a rate window. */
export const START_SECONDS = Date.UTC(2026, 10, 21, 12) / 1000;
const IDS_MAX = 10_000;
/** More than any test sends. */
const AMPLE = 1_000_000;

let serial = 0;

function request(fields: Partial<AdmissionRequest> = {}): AdmissionRequest {
  const nowSeconds = fields.nowSeconds ?? START_SECONDS;
  return {
    window: 'decide',
    keyNumber: 1,
    allowance: AMPLE,
    source: null,
    requestId: `id-${serial++}`,
    timestampSeconds: nowSeconds,
    nowSeconds,
    ...fields,
  };
}

async function one(admission: Admission, fields: Partial<AdmissionRequest> = {}): Promise<Counted> {
  const [verdict] = await admission.admit([request(fields)]);
  return counted(verdict);
}

type Counted = Exclude<AdmissionVerdict<AdmissionRequest>, { readonly outcome: 'unavailable' }>;

function counted(verdict: AdmissionVerdict<AdmissionRequest> | undefined): Counted {
  if (verdict === undefined || verdict.outcome === 'unavailable') throw new Error('the store is unavailable');
  return verdict;
}

function idOf(verdict: Counted): AdmittedId {
  if (verdict.outcome !== 'admitted' || verdict.id === null) throw new Error(`no id was used up: ${verdict.outcome}`);
  return verdict.id;
}

async function outcomes(admission: Admission, requests: readonly AdmissionRequest[]): Promise<readonly string[]> {
  return (await admission.admit(requests)).map(({ outcome }) => outcome);
}

/** Admits all batches before any of them has its verdicts. */
async function together(
  admission: Admission,
  batches: readonly (readonly AdmissionRequest[])[],
): Promise<readonly AdmissionVerdict<AdmissionRequest>[]> {
  return (await Promise.all(batches.map((batch) => Promise.resolve(admission.admit(batch))))).flat();
}

/** Splits into batches of these sizes; the rest is the last batch. */
function batchesOf<T>(all: readonly T[], sizes: readonly number[]): readonly (readonly T[])[] {
  const batches: T[][] = [];
  let from = 0;
  for (const size of [...sizes, all.length]) {
    if (from < all.length) batches.push(all.slice(from, from + size));
    from += size;
  }
  return batches;
}

const sizes = fc.array(fc.integer({ min: 1, max: 16 }), { maxLength: 20 });

/** Tests what docs/contract.md (3.7 to 3.9) and `src/ports/admission.ts` promise. */
export function describeAdmission(adapter: string, open: AdmissionFactory): void {
  describe(`request ids, ${adapter}`, () => {
    testBatches(open);
    testCopies(open);
    testExpiry(open);
    testFullTable(open);
    testRelease(open);
    testRestart(open);
  });
  describe(`rate windows, ${adapter}`, () => {
    testWindows(open);
    testOrder(open);
    testVisitors(open);
  });
}

function testBatches(open: AdmissionFactory): void {
  test('A batch gets one verdict for each request, in the same order, with the request itself', async () => {
    const { admission } = await open(IDS_MAX);
    const requests = Array.from({ length: 20 }, (_, n) => request({ keyNumber: 1 + (n % 3) }));
    const verdicts = await admission.admit(requests);
    expect(verdicts.map((verdict) => verdict.request)).toEqual(requests);
    expect(verdicts.every((verdict, n) => verdict.request === requests[n])).toBe(true);
    expect(await admission.admit([])).toEqual([]);
  });
}

function testCopies(open: AdmissionFactory): void {
  const copy = fc.record({ keyNumber: fc.integer({ min: 1, max: 3 }), requestId: fc.constantFrom('a', 'b', 'c', 'd') });

  test('Exactly one of several copies is admitted, the first one if batches follow one another', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(copy, { maxLength: 80 }), sizes, async (copies, split) => {
        const { admission } = await open(IDS_MAX);
        const seen = new Set<string>();
        for (const batch of batchesOf(copies, split)) {
          const expected = batch.map(({ keyNumber, requestId }) => {
            const name = `${keyNumber} ${requestId}`;
            const outcome = seen.has(name) ? 'replayed' : 'admitted';
            seen.add(name);
            return outcome;
          });
          expect(await outcomes(admission, batch.map(request))).toEqual(expected);
        }
      }),
    );
  });

  test('Exactly one of several copies is admitted when their batches are admitted at the same time', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(copy, { maxLength: 80 }), sizes, async (copies, split) => {
        const { admission } = await open(IDS_MAX);
        const given = await together(
          admission,
          batchesOf(copies, split).map((batch) => batch.map(request)),
        );
        const admitted = given.filter(({ outcome }) => outcome === 'admitted');
        const names = admitted.map((verdict) => `${verdict.request.keyNumber} ${verdict.request.requestId}`);
        const distinct = new Set(copies.map(({ keyNumber, requestId }) => `${keyNumber} ${requestId}`));
        expect(names.toSorted()).toEqual([...distinct].toSorted());
        const others = given.filter(({ outcome }) => outcome !== 'admitted');
        expect(others.every(({ outcome }) => outcome === 'replayed')).toBe(true);
      }),
    );
  });

  test('A request id belongs to its key: the same id of another key is admitted', async () => {
    const { admission } = await open(IDS_MAX);
    for (let keyNumber = 1; keyNumber <= 50; keyNumber++) {
      expect((await one(admission, { keyNumber, requestId: 'same' })).outcome).toBe('admitted');
      expect((await one(admission, { keyNumber, requestId: 'same' })).outcome).toBe('replayed');
    }
  });

  test('A request id is used up whatever window its request counts in', async () => {
    const { admission } = await open(IDS_MAX);
    expect((await one(admission, { window: 'decide', requestId: 'shared' })).outcome).toBe('admitted');
    for (const window of ['management', 'outcomes'] as const)
      expect((await one(admission, { window, requestId: 'shared' })).outcome).toBe('replayed');
  });

  test('A request without an id is admitted each time, and has none to journal', async () => {
    const { admission } = await open(1);
    for (let n = 0; n < 5; n++)
      expect(await one(admission, { requestId: null })).toMatchObject({ outcome: 'admitted', id: null });
  });
}

function testExpiry(open: AdmissionFactory): void {
  test.each([-TIMESTAMP_WINDOW_SECONDS, 0, TIMESTAMP_WINDOW_SECONDS])(
    'An id with a timestamp %i s from now is remembered until its timestamp + 301 s, and not longer',
    async (skew) => {
      const subject = await open(IDS_MAX);
      const timestampSeconds = START_SECONDS + skew;
      const end = timestampSeconds + REPLAY_KEEP_SECONDS;
      const first = await one(subject.admission, { requestId: 'id', timestampSeconds });
      expect(idOf(first)).toMatchObject({ keyNumber: 1, expiresAtSeconds: end });
      for (const nowSeconds of [START_SECONDS, end - 1]) {
        await subject.advanceTo(nowSeconds);
        const again = await one(subject.admission, { requestId: 'id', timestampSeconds: nowSeconds, nowSeconds });
        expect(again.outcome).toBe('replayed');
      }
      await subject.advanceTo(end);
      const later = await one(subject.admission, { requestId: 'id', timestampSeconds: end, nowSeconds: end });
      expect(later.outcome).toBe('admitted');
    },
  );

  test('An id is judged at the second in which its request was verified, not at that of a later one in its batch', async () => {
    const { admission } = await open(IDS_MAX);
    const end = START_SECONDS + REPLAY_KEEP_SECONDS;
    await one(admission, { requestId: 'id', timestampSeconds: START_SECONDS });
    const batch = [
      request({ requestId: 'id', timestampSeconds: START_SECONDS, nowSeconds: end - 1 }),
      request({ nowSeconds: end }),
    ];
    expect(await outcomes(admission, batch)).toEqual(['replayed', 'admitted']);
  });
}

function testFullTable(open: AdmissionFactory): void {
  const fill = async (admission: Admission, keyNumber: number, most: number): Promise<string[]> => {
    const held: string[] = [];
    while (held.length < most) {
      const next = request({ keyNumber });
      const [verdict] = await admission.admit([next]);
      if (counted(verdict).outcome !== 'admitted') break;
      held.push(next.requestId ?? '');
    }
    return held;
  };

  test('One key may hold at most half of the table, and leaves room for others', async () => {
    const { admission } = await open(1_000);
    expect(await fill(admission, 1, 1_000)).toHaveLength(500);
    expect((await one(admission)).outcome).toBe('full');
    for (let keyNumber = 2; keyNumber < 100; keyNumber++)
      expect((await one(admission, { keyNumber })).outcome).toBe('admitted');
  });

  test('A full table evicts no id, remembers none that it refused, and has room again when ids have expired', async () => {
    const subject = await open(100);
    const { admission } = subject;
    const held = new Map<number, readonly string[]>();
    let size = 0;
    for (let keyNumber = 1; size < 100; keyNumber++) {
      const ids = await fill(admission, keyNumber, 100);
      held.set(keyNumber, ids);
      size += ids.length;
      expect(ids.length).toBeGreaterThan(0);
    }
    expect((await one(admission, { keyNumber: 999, requestId: 'refused' })).outcome).toBe('full');
    for (const [keyNumber, ids] of held) {
      const copies = ids.map((requestId) => request({ keyNumber, requestId }));
      expect(new Set(await outcomes(admission, copies))).toEqual(new Set(['replayed']));
    }
    const end = START_SECONDS + REPLAY_KEEP_SECONDS;
    await subject.advanceTo(end);
    const later = { keyNumber: 999, requestId: 'refused', nowSeconds: end, timestampSeconds: end };
    expect((await one(admission, later)).outcome).toBe('admitted');
  });
}

function testRelease(open: AdmissionFactory): void {
  test('A released id may be used once more, and no other id is forgotten', async () => {
    const command = fc.record({ requestId: fc.constantFrom('a', 'b', 'c'), releases: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 60 }), async (commands) => {
        const { admission } = await open(IDS_MAX);
        const held = new Map<string, AdmittedId>();
        for (const { requestId, releases } of commands) {
          const id = held.get(requestId);
          if (releases && id !== undefined) {
            admission.release(id);
            held.delete(requestId);
          }
          const verdict = await one(admission, { requestId });
          expect(verdict.outcome).toBe(held.has(requestId) ? 'replayed' : 'admitted');
          if (verdict.outcome === 'admitted') held.set(requestId, idOf(verdict));
        }
      }),
    );
  });
}

function testRestart(open: AdmissionFactory): void {
  test('No restart forgets an id that was staged and committed, and a released id stays usable', async () => {
    const first = await open(IDS_MAX);
    const requests = Array.from({ length: 200 }, (_, n) => request({ keyNumber: 1 + (n % 7), requestId: `kept-${n}` }));
    for (const batch of batchesOf(requests, [1, 3, 16, 16, 32, 32, 32, 32])) {
      for (const verdict of await first.admission.admit(batch)) first.admission.stage(idOf(counted(verdict)));
      await first.commit();
    }
    const released = await one(first.admission, { requestId: 'released' });
    first.admission.release(idOf(released));
    const second = await first.restart();
    expect(new Set(await outcomes(second.admission, requests))).toEqual(new Set(['replayed']));
    expect((await one(second.admission, { requestId: 'released' })).outcome).toBe('admitted');
    const end = START_SECONDS + REPLAY_KEEP_SECONDS;
    await second.advanceTo(end);
    const again = requests.map((old) => ({ ...old, nowSeconds: end, timestampSeconds: end }));
    expect(new Set(await outcomes(second.admission, again))).toEqual(new Set(['admitted']));
  });
}

/** Exact counts of fixed windows. */
class WindowModel {
  readonly #used = new Map<string, number>();

  take({ window, keyNumber, allowance, nowSeconds }: AdmissionRequest): RateState & { readonly isOver: boolean } {
    const start = nowSeconds - (nowSeconds % RATE_WINDOW_SECONDS);
    const name = `${window} ${keyNumber} ${start}`;
    const used = this.#used.get(name) ?? 0;
    const isOver = used >= allowance;
    if (!isOver) this.#used.set(name, used + 1);
    const resetSeconds = start + RATE_WINDOW_SECONDS;
    return {
      isOver,
      limit: allowance,
      remaining: isOver ? 0 : allowance - used - 1,
      resetSeconds,
      retryAfterSeconds: resetSeconds - nowSeconds,
    };
  }
}

function testWindows(open: AdmissionFactory): void {
  test('Windows are fixed, last 60 s, and allow exactly the allowance of each key, however requests are batched', async () => {
    const step = fc.record({
      by: fc.constantFrom(0, 0, 0, 0, 1, 7, 59, 60, 200),
      keyNumber: fc.integer({ min: 1, max: 3 }),
      window: fc.constantFrom<RateWindowName>('decide', 'management', 'outcomes'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 100 }), sizes, fc.nat(4), async (steps, split, allowance) => {
        const subject = await open(IDS_MAX);
        const model = new WindowModel();
        let nowSeconds = START_SECONDS;
        const requests = steps.map(({ by, keyNumber, window }) => {
          nowSeconds += by;
          return request({ keyNumber, window, allowance, nowSeconds });
        });
        for (const batch of batchesOf(requests, split)) {
          const verdicts = await subject.admission.admit(batch);
          for (const verdict of verdicts) {
            const { isOver, ...state } = model.take(verdict.request);
            expect(verdict).toMatchObject({ outcome: isOver ? 'rate_limited' : 'admitted', ...state });
          }
        }
      }),
    );
  });

  test('Requests of one key that are admitted at the same time get the allowance together, and each its own remainder', async () => {
    const { admission } = await open(IDS_MAX);
    const batches = Array.from({ length: 8 }, () => Array.from({ length: 5 }, () => request({ allowance: 25 })));
    const verdicts = (await together(admission, batches)).map(counted);
    const admitted = verdicts.filter(({ outcome }) => outcome === 'admitted');
    const left = admitted.map(({ remaining }) => remaining).toSorted((a, b) => b - a);
    expect(left).toEqual(Array.from({ length: 25 }, (_, n) => 24 - n));
    for (const verdict of verdicts.filter(({ outcome }) => outcome !== 'admitted'))
      expect(verdict).toMatchObject({ outcome: 'rate_limited', remaining: 0, limit: 25 });
  });

  test('Retry-After is at least 1 s, and at most two windows after the clock was set back', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: -100_000, max: 100_000 }), async (by) => {
        const { admission } = await open(IDS_MAX);
        await one(admission, { nowSeconds: START_SECONDS + 5 });
        const { retryAfterSeconds } = await one(admission, { nowSeconds: START_SECONDS + 5 + by });
        expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
        expect(retryAfterSeconds).toBeLessThanOrEqual(2 * RATE_WINDOW_SECONDS);
      }),
    );
  });
}

function testOrder(open: AdmissionFactory): void {
  test('A request over its rate keeps its id, and may be sent again in the next window', async () => {
    const subject = await open(IDS_MAX);
    const { admission } = subject;
    await one(admission, { allowance: 1 });
    const limited = { allowance: 1, requestId: 'limited' };
    for (let n = 0; n < 3; n++) expect((await one(admission, limited)).outcome).toBe('rate_limited');
    const nowSeconds = START_SECONDS + RATE_WINDOW_SECONDS;
    await subject.advanceTo(nowSeconds);
    const later = { ...limited, nowSeconds, timestampSeconds: START_SECONDS };
    expect((await one(admission, later)).outcome).toBe('admitted');
  });

  test('The rate is checked before the id: a replay over its rate is rate limited, and one within it does not count', async () => {
    const { admission } = await open(IDS_MAX);
    const sent = ['id', 'id', 'id', 'other', 'id', 'third', 'id'].map((requestId) =>
      request({ requestId, allowance: 3 }),
    );
    const verdicts = (await admission.admit(sent)).map(counted);
    expect(verdicts.map(({ outcome, remaining }) => [outcome, remaining])).toEqual([
      ['admitted', 2],
      ['replayed', 2],
      ['replayed', 2],
      ['admitted', 1],
      ['replayed', 1],
      ['admitted', 0],
      ['rate_limited', 0],
    ]);
  });

  test('A thousand replays of a visitor use neither its share nor the allowance of the key', async () => {
    const { admission } = await open(IDS_MAX);
    const visit = { requestId: 'id', allowance: 2_000, source: '198.51.100.1' };
    expect((await one(admission, visit)).outcome).toBe('admitted');
    for (let n = 0; n < 50; n++) await admission.admit(Array.from({ length: 20 }, () => request(visit)));
    expect(await one(admission, visit)).toMatchObject({ outcome: 'replayed', remaining: 99 });
    expect(await one(admission, { ...visit, requestId: 'next' })).toMatchObject({ outcome: 'admitted', remaining: 98 });
    expect(await one(admission, { allowance: 2_000 })).toMatchObject({ outcome: 'admitted', remaining: 1_997 });
  });

  test('A request whose id finds no room counts against the rate', async () => {
    const { admission } = await open(2);
    const verdicts = await admission.admit([request({ allowance: 9 }), request({ allowance: 9 })]);
    expect(verdicts.map(({ outcome }) => outcome)).toEqual(['admitted', 'full']);
    expect(verdicts.map((verdict) => counted(verdict).remaining)).toEqual([8, 7]);
  });
}

function testVisitors(open: AdmissionFactory): void {
  const allowance = 2_000;
  const share = Math.ceil(allowance * RATE_VISITOR_SHARE);
  const visit = (source: string | null, fields: Partial<AdmissionRequest> = {}): AdmissionRequest =>
    request({ source, allowance, ...fields });

  test('A visitor of a public key may use a twentieth of the allowance, and does not see the traffic of others', async () => {
    const { admission } = await open(IDS_MAX);
    const verdicts = (await admission.admit(Array.from({ length: share + 5 }, () => visit('198.51.100.1')))).map(
      counted,
    );
    expect(verdicts.map(({ outcome, limit, remaining }) => [outcome, limit, remaining])).toEqual([
      ...Array.from({ length: share }, (_, n) => ['admitted', share, share - 1 - n]),
      ...Array.from({ length: 5 }, () => ['rate_limited', share, 0]),
    ]);
    const [other] = (await admission.admit([visit('198.51.100.2')])).map(counted);
    expect(other).toMatchObject({ outcome: 'admitted', limit: share, remaining: share - 1 });
    // Requests that were refused for their visitor did not use the allowance of the key.
    const [whole] = (await admission.admit([visit(null)])).map(counted);
    expect(whole?.remaining).toBe(allowance - share - 2);
  });

  test('All visitors together have the allowance of the key, and a refusal because of it uses no share', async () => {
    const subject = await open(IDS_MAX);
    const { admission } = subject;
    const small = RATE_VISITOR_MIN + 10;
    const of = (source: string, count: number, nowSeconds = START_SECONDS): readonly AdmissionRequest[] =>
      Array.from({ length: count }, () => visit(source, { allowance: small, nowSeconds }));
    expect(new Set(await outcomes(admission, of('a', RATE_VISITOR_MIN)))).toEqual(new Set(['admitted']));
    const rest = (await admission.admit(of('b', 11))).map(counted);
    expect(rest.map(({ remaining }) => remaining)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0]);
    expect(rest.at(-1)).toMatchObject({ outcome: 'rate_limited', limit: RATE_VISITOR_MIN });
    const next = START_SECONDS + RATE_WINDOW_SECONDS;
    await subject.advanceTo(next);
    const [fresh] = (await admission.admit(of('a', 1, next))).map(counted);
    expect(fresh).toMatchObject({ outcome: 'admitted', remaining: RATE_VISITOR_MIN - 1 });
  });

  test('Visitors of one key do not count for another key, nor for another window', async () => {
    const { admission } = await open(IDS_MAX);
    await admission.admit(Array.from({ length: share }, () => visit('198.51.100.1')));
    const others = [visit('198.51.100.1', { keyNumber: 2 }), visit('198.51.100.1', { window: 'outcomes' })];
    expect((await admission.admit(others)).map((verdict) => counted(verdict).remaining)).toEqual([
      share - 1,
      share - 1,
    ]);
    expect((await one(admission, { source: '198.51.100.1', allowance })).outcome).toBe('rate_limited');
  });

  test('A flood of visitors hardly reduces what another visitor may use', async () => {
    const { admission } = await open(20_000);
    const flood = Array.from({ length: 5_000 }, (_, n) =>
      visit(`2001:db8:0:${n.toString(16)}::`, { requestId: null, allowance: AMPLE }),
    );
    for (const batch of batchesOf(
      flood,
      Array.from({ length: 160 }, () => 32),
    ))
      await admission.admit(batch);
    const others = Array.from({ length: 32 }, (_, n) =>
      visit(`198.51.100.${n}`, { requestId: null, allowance: AMPLE }),
    );
    for (const { outcome, limit, remaining } of (await admission.admit(others)).map(counted)) {
      expect(outcome).toBe('admitted');
      expect(remaining).toBeGreaterThan(limit - 20);
    }
  });
}
