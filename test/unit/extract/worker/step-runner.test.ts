import { describe, expect, test } from 'vitest';
import type { EgressRequest } from '../../../../src/egress/egress-outcome.ts';
import {
  SourceFailure,
  type Connector,
  type Operation,
  type Source,
  type StepResult,
} from '../../../../src/extract/base/connector.ts';
import { BodyCache } from '../../../../src/extract/fetch/body-cache.ts';
import { RobotsCache } from '../../../../src/extract/fetch/robots-cache.ts';
import type { SourceSession } from '../../../../src/extract/base/source-session.ts';
import type { CookieChange } from '../../../../src/extract/fetch/session-cookies.ts';
import { unpackSteps } from '../../../../src/extract/base/pack-steps.ts';
import { StepRunner } from '../../../../src/extract/worker/step-runner.ts';
import type { ExtractEvent, ExtractJobMessage, ExtractResult } from '../../../../src/extract/base/extract-messages.ts';
import { PLAIN_OUTPUT } from '../../../support/extraction-jobs.ts';

type Run = Operation['run'];

/** A worker's step runner with one connector, whose source is the test and whose clock is advanced by hand. */
function begin(
  run: Run,
  hosts?: readonly string[],
  setCookie = '',
  carriesRest: NonNullable<Operation['carriesRest']> = () => false,
): {
  events: ExtractEvent[];
  requests: EgressRequest[];
  runner: StepRunner;
  job(overrides?: Partial<ExtractJobMessage>): void;
  step(lease?: number, written?: readonly number[]): void;
  pass(ms: number): Promise<void>;
  grant(): Promise<void>;
  results(): ExtractResult[];
} {
  const operation = {
    name: 'item.list',
    record: { type: 'object', properties: { id: { type: 'string' }, size: { type: 'number' } } },
    run,
    carriesRest,
  };
  const connector = { id: 'made', operations: [operation], hosts } as unknown as Connector;
  const events: ExtractEvent[] = [];
  const requests: EgressRequest[] = [];
  let nowMs = 0;
  let timers: { atMs: number; run: () => void }[] = [];
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 5; i++) await new Promise((done) => setImmediate(done));
  };
  const runner = new StepRunner({
    connectors: [connector],
    bases: { made: 'http://base.example' },
    fetch: {
      client: {
        request(request) {
          requests.push(request);
          const body = Buffer.from('{"items":[1]}');
          return Promise.resolve({
            kind: 'response',
            status: 200,
            headers: { 'content-type': 'application/json', ...(setCookie !== '' && { 'set-cookie': setCookie }) },
            body,
            durationMs: 1,
          } as never);
        },
      },
      robots: new RobotsCache(),
      bodies: new BodyCache(),
      clock: { nowMs: () => 1_700_000_000_000, wait: () => Promise.resolve() },
      random: () => 0.5,
      userAgent: 'Gatehouse/1',
    },
    monotonicMs: () => nowMs,
    after(ms, then) {
      const timer = { atMs: nowMs + ms, run: then };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    emit: (event) => void events.push(event),
  });
  return {
    events,
    requests,
    runner,
    job: (overrides = {}) =>
      runner.order({
        kind: 'job',
        job: {
          job: 1,
          connector: 'made',
          operation: 'item.list',
          inputJson: '{}',
          output: PLAIN_OUTPUT,
          sessionJson: null,
          sessionOrigins: [],
          ...overrides,
        },
      }),
    step: (lease = 1, written: readonly number[] = []) =>
      runner.order({ kind: 'steps', steps: [{ lease, job: 1, stateJson: '{"page":3}', recordsLeft: 5, written }] }),
    async pass(ms) {
      nowMs += ms;
      const due = timers.filter(({ atMs }) => atMs <= nowMs);
      timers = timers.filter(({ atMs }) => atMs > nowMs);
      for (const { run } of due) run();
      await settle();
    },
    async grant() {
      const permits = events.flatMap((event) => (event.kind === 'permit' ? [event.permit] : []));
      runner.order({ kind: 'permitted', permits });
      await settle();
    },
    results: () => events.flatMap((event) => (event.kind === 'result' ? [event] : [])),
  };
}

const sessionOf = (host: string): string =>
  JSON.stringify({
    host,
    cookies: [{ name: 'sid', value: '1', domain: null, path: '/', secure: false, httpOnly: true, expiresAtMs: null }],
    headers: {},
  } satisfies SourceSession);
const nextOf = ({ next }: ExtractResult): string[] => unpackSteps(next).map(({ key }) => key);
const NOTHING: StepResult = { records: [], next: [], total: null };
const record = (id: string, fields = {}): StepResult['records'][number] => ({
  id,
  sourceUrl: `http://shop.example/${id}`,
  fields: { id, size: 1, ...fields },
});
const linesOf = ({ ndjson }: ExtractResult): unknown[] =>
  Buffer.from(ndjson)
    .toString('utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

describe('StepRunner', () => {
  test('a step runs with its state, and its records are returned shaped, as lines with their lengths', async () => {
    const seen: unknown[] = [];
    const at = begin((state, source, want) => {
      seen.push(state, want, source.base('http://own.example'));
      return Promise.resolve({
        records: [record('ä'), record('2')],
        next: [{ key: 'k', state: { page: 4 } }],
        total: 7,
        pauseSeconds: 2,
      });
    });
    at.job({ output: { ...PLAIN_OUTPUT, fields: ['id'] } });
    at.step();
    await at.pass(0);
    expect(seen).toEqual([{ page: 3 }, { recordsLeft: 5 }, 'http://base.example']);
    const [result] = at.results();
    if (result === undefined) throw new Error('no result');
    const meta = { source_url: 'http://shop.example/ä', fetched_at: '2023-11-14T22:13:20.000Z' };
    expect(linesOf(result)[0]).toEqual({ id: 'ä', _meta: { id: 'ä', ...meta } });
    expect([...result.lineBytes].reduce((sum, bytes) => sum + bytes, 0)).toBe(result.ndjson.length);
    expect(Buffer.from(result.next.rows).toString('latin1')).toBe('\u0000\u0001k{"page":4}');
    expect(result).toMatchObject({ failure: null, total: 7, pauseMs: 2_000, errors: 0 });
    expect([result.hashes.length, result.next.hashes.length]).toEqual([32, 16]);
  });

  test('a step waits for a token before each request, releases it, and counts its cost', async () => {
    const at = begin(async (_state, source) => {
      await source.json('http://api.example/items');
      return NOTHING;
    });
    at.job();
    at.step();
    await at.pass(0);
    expect(at.events).toEqual([{ kind: 'permit', permit: 1, lease: 1, domain: 'api.example' }]);
    expect(at.requests).toEqual([]);
    await at.grant();
    expect(at.requests).toHaveLength(1);
    expect(at.events.slice(1).map(({ kind }) => kind)).toEqual(['release', 'result']);
    expect(at.results()[0]).toMatchObject({ pages: 1, credits: 1, tier: 'basic', bytes: 13 });
  });

  test.each([
    ['an origin that its input names', undefined, 'http://shop.example/', 'http://shop.example', 'sid=1'],
    [
      'no origin without https that it does not name',
      undefined,
      'http://shop.example/',
      'https://shop.example',
      undefined,
    ],
    [
      'the operator’s base address of a source',
      ['api.example'],
      'http://base.example/',
      'http://shop.example',
      'sid=1',
    ],
    [
      'no origin in the input of such a source',
      ['api.example'],
      'http://shop.example/',
      'http://shop.example',
      undefined,
    ],
  ])('a step sends its session to %s', async (_what, hosts, url, origin, sent) => {
    const at = begin(async (_state, source) => {
      await source.json(url);
      return NOTHING;
    }, hosts);
    at.job({ sessionJson: sessionOf(new URL(url).hostname), sessionOrigins: [origin] });
    at.step();
    await at.pass(0);
    await at.grant();
    expect(at.requests.map(({ headers }) => headers?.['cookie'])).toEqual([sent]);
  });

  test('a step reports only what the source changed of its session, even if it fails', async () => {
    const operation = async (_state: unknown, source: Source): Promise<StepResult> => {
      await source.json('https://shop.example/');
      throw new SourceFailure('parse_failed', 'what came is nothing', false);
    };
    const at = begin(operation, undefined, 'view=2; Path=/');
    at.job({ sessionJson: sessionOf('shop.example') });
    at.step();
    await at.pass(0);
    await at.grant();
    const [result] = at.results();
    const changes = JSON.parse(result?.sessionJson ?? '[]') as readonly CookieChange[];
    expect(result?.failure?.reason).toBe('parse_failed');
    expect(changes).toMatchObject([{ kind: 'set', cookie: { name: 'view', value: '2', hostOnly: true } }]);
  });

  test('a failed step reports the reason, and an exception in a connector is an internal error', async () => {
    const failures = [
      new SourceFailure('source_not_found', 'http://x: status 404', false),
      new TypeError('undefined is no function'),
    ];
    const at = begin(() => Promise.reject(failures.shift() ?? new Error('no more')));
    at.job();
    at.step(1);
    at.step(2);
    await at.pass(0);
    expect(at.results().map(({ failure, errors }) => [failure?.reason, failure?.retryable, errors])).toEqual([
      ['source_not_found', false, 1],
      ['internal_error', false, 1],
    ]);
  });

  test('a failed step reports whether a list’s remainder is lost, and how long its source asks for a pause', async () => {
    const at = begin(() => Promise.reject(new SourceFailure('rate_limited_by_source', 'later', true, 90_000)));
    at.job();
    at.step();
    await at.pass(0);
    expect(at.results()[0]?.failure).toEqual({
      reason: 'rate_limited_by_source',
      retryable: true,
      detail: 'later',
      waitMs: 90_000,
    });
    const list = begin(
      () => new Promise(() => {}),
      undefined,
      '',
      (step) => step['page'] === 3,
    );
    list.job();
    list.step();
    await list.pass(300_000);
    expect(list.results()[0]?.failure).toMatchObject({ reason: 'timeout', losesRest: true });
  });

  test('a step that had no room for everything reports that together with what it found', async () => {
    const next = Array.from({ length: 100_001 }, (_, i) => ({ key: `p${i}`, state: {} }));
    const record = { id: '1', sourceUrl: 'https://x.example/', fields: { id: '1', size: 1 } };
    const notes = [{ reason: 'source_not_found', detail: 'gone' }] as const;
    for (const [found, told] of [
      [{ next: [], leftOut: 'the rest' }, 'there was no room for the rest'],
      [{ next }, 'there was no room for 1 of the pages that one step found'],
    ] as const) {
      const at = begin(() => Promise.resolve({ records: [record], total: null, notes, ...found }));
      at.job();
      at.step();
      await at.pass(0);
      const [result] = at.results();
      expect(result?.failure).toEqual({ reason: 'limit_reached', retryable: false, detail: told, losesRest: true });
      expect(result).toMatchObject({ errors: 0, notes });
      expect([result?.lineBytes.length, result?.next.rowBytes.length]).toEqual([
        1,
        Math.min(100_000, found.next.length),
      ]);
    }
  });

  test('a step with a truncated list returns its records and a failure with the source’s reason', async () => {
    const record = { id: '1', sourceUrl: 'https://x.example/', fields: { id: '1', size: 1 } };
    const brokenOff = { reason: 'parse_failed', detail: 's.xml breaks off before its end' } as const;
    const at = begin(() => Promise.resolve({ records: [record], next: [], total: null, brokenOff }));
    at.job();
    at.step();
    await at.pass(0);
    expect(at.results()[0]).toMatchObject({
      errors: 1,
      lineBytes: { length: 1 },
      failure: { ...brokenOff, retryable: false, losesRest: true },
    });
  });

  test('a step with unreadable lists counts them as errors and adds a note to the job', async () => {
    const list = { reason: 'parse_failed', detail: 's.xml is not a list of pages' } as const;
    const refused = { reason: 'access_denied', detail: 't.xml: status 403' } as const;
    const unreadable = [
      { ...list, isFetched: true },
      { ...refused, isFetched: false },
    ];
    const at = begin(() => Promise.resolve({ records: [], next: [], total: null, unreadable }));
    at.job();
    at.step();
    await at.pass(0);
    const [result] = at.results();
    expect(result).toMatchObject({ errors: 1, failure: null, jobNotes: ['list_incomplete'] });
    expect(result?.notes).toEqual([list, refused]);
  });

  test('a step with links that are too deep adds a note to the job, unless the job has steps for all of them', async () => {
    const step = (key: string): StepResult['next'][number] => ({ key, state: {} });
    let found: StepResult = { ...NOTHING, next: [step('a'), step('b')] };
    const at = begin(() => Promise.resolve(found));
    at.job();
    at.step(1);
    await at.pass(0);
    for (const [tooDeep, lease] of [
      [['b', 'a'], 2],
      [['b', 'c'], 3],
      [[], 4],
    ] as const) {
      found = { ...NOTHING, tooDeep };
      at.step(lease, [1]);
      await at.pass(0);
    }
    expect(at.results().map(({ jobNotes }) => jobNotes)).toEqual([[], [], ['depth_limit_reached'], []]);
  });

  test('records that violate the schema are dropped and counted, or fail the step if required', async () => {
    const at = begin(() => Promise.resolve({ ...NOTHING, records: [record('1'), record('2', { size: 'large' })] }));
    const schema = { type: 'object', properties: { size: { type: 'number' } } };
    at.job({ output: { ...PLAIN_OUTPUT, schema, onInvalid: 'drop' } });
    at.step(1);
    await at.pass(0);
    at.job({ output: { ...PLAIN_OUTPUT, schema, onInvalid: 'fail' } });
    at.step(2);
    await at.pass(0);
    const [dropped, failed] = at.results();
    expect(dropped).toMatchObject({ errors: 1, failure: null, notes: [{ reason: 'schema_mismatch' }] });
    expect(dropped?.lineBytes).toHaveLength(1);
    expect(failed).toMatchObject({ failure: { reason: 'schema_mismatch' }, lineBytes: new Uint32Array(0) });
  });

  test('a step wants any number of records if the output may reject some', async () => {
    const wanted: number[] = [];
    const at = begin((_state, _source, { recordsLeft }) => {
      wanted.push(recordsLeft);
      return Promise.resolve(NOTHING);
    });
    const schema = { type: 'object', properties: { size: { type: 'number' } } };
    for (const onInvalid of ['drop', 'keep', 'fail'] as const) {
      at.job({ output: { ...PLAIN_OUTPUT, schema, onInvalid } });
      at.step();
      await at.pass(0);
    }
    expect(wanted).toEqual([Infinity, 5, 5]);
  });

  test('a step that fails after everything that the job wants also returns those records', async () => {
    const all = ['1', '2', '3', '4', '4', '5'].map((id) => record(id));
    const schema = { type: 'object', properties: { size: { type: 'number' } } };
    for (const [records, given] of [
      [all, 6],
      [all.slice(1), 0],
    ] as const) {
      const at = begin(() => Promise.resolve({ ...NOTHING, records: [...records, record('x', { size: 'large' })] }));
      at.job({ output: { ...PLAIN_OUTPUT, schema, onInvalid: 'fail' } });
      at.step();
      await at.pass(0);
      const [result] = at.results();
      expect([result?.failure?.reason, result?.lineBytes.length]).toEqual(['schema_mismatch', given]);
    }
  });

  test('a step is aborted after five minutes of its own work, not counting waits for the rate limiter', async () => {
    const at = begin(async (_state, source) => {
      await source.json('http://api.example/items');
      await new Promise(() => {});
      return NOTHING;
    });
    at.job();
    at.step();
    await at.pass(0);
    await at.pass(600_000);
    expect(at.results()).toEqual([]);
    await at.grant();
    await at.pass(299_000);
    expect(at.results()).toEqual([]);
    await at.pass(2_000);
    expect(at.results()).toMatchObject([{ failure: { reason: 'timeout', retryable: true } }]);
  });

  test('a step of a job that has ended releases its token and requests nothing more', async () => {
    const at = begin(async (_state, source) => {
      await source.json('http://api.example/items');
      return NOTHING;
    });
    at.job();
    at.step();
    await at.pass(0);
    at.runner.order({ kind: 'forget', job: 1 });
    await at.pass(0);
    expect(at.events.filter(({ kind }) => kind === 'release')).toHaveLength(1);
    await at.grant();
    expect(at.requests).toEqual([]);
  });

  test.each([
    ['an unknown job', {}, false],
    ['an operation that no longer exists', { operation: 'item.gone' }, true],
    ['a job with invalid output options', { output: { ...PLAIN_OUTPUT, fields: ['no.such'] } }, true],
  ])('a step of %s fails as an internal error', async (_name, overrides, isTold) => {
    const at = begin(() => Promise.resolve(NOTHING));
    if (isTold) at.job(overrides);
    at.step();
    await at.pass(0);
    expect(at.results()).toMatchObject([{ failure: { reason: 'internal_error' } }]);
  });
});

describe('deduplication of steps', () => {
  const found = (...keys: string[]): StepResult => ({ ...NOTHING, next: keys.map((key) => ({ key, state: {} })) });

  test('steps are sent again until the result that contained them is known to be stored', async () => {
    const pages = [found('a', 'b'), found('a', 'b'), found('a', 'b', 'c'), found('c', 'a')];
    const at = begin(() => Promise.resolve(pages.shift() ?? NOTHING));
    at.job();
    at.step(1);
    await at.pass(0);
    at.step(2);
    await at.pass(0);
    at.step(3, [1]);
    await at.pass(0);
    at.step(4, [2]);
    await at.pass(0);
    expect(at.results().map(nextOf)).toEqual([['a', 'b'], ['a', 'b'], ['c'], ['c']]);
    at.step(5, [3, 4]);
    await at.pass(0);
    expect(at.results()[4]?.next.rows).toHaveLength(0);
  });

  test.each([
    ['sent again', false],
    ['dropped and sent again', true],
  ])(
    'steps are sent again when their job is %s, even if an earlier result is reported as stored',
    async (_name, isGone) => {
      const at = begin(() => Promise.resolve(found('a')));
      at.job();
      at.step(1);
      await at.pass(0);
      at.step(2, [1]);
      await at.pass(0);
      if (isGone) at.runner.order({ kind: 'forget', job: 1 });
      at.job();
      at.step(3, [1]);
      await at.pass(0);
      expect(at.results().map(nextOf)).toEqual([['a'], [], ['a']]);
    },
  );

  test('steps of an aborted step are ignored, whatever it finds afterwards', async () => {
    let answer: (found: StepResult) => void = () => {};
    const at = begin(
      () =>
        new Promise<StepResult>((resolve) => {
          answer = resolve;
        }),
    );
    at.job();
    at.step(1);
    await at.pass(0);
    await at.pass(301_000);
    expect(at.results()[0]?.failure?.reason).toBe('timeout');
    answer(found('a'));
    await at.pass(0);
    at.step(2, [1]);
    await at.pass(0);
    answer(found('a'));
    await at.pass(0);
    expect(at.results().slice(1).map(nextOf)).toEqual([['a']]);
  });
});
