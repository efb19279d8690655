import { describe, expect, test } from 'vitest';
import type { EgressRequest } from '../../../src/egress/outcome.ts';
import { SourceFailure, type Connector, type Operation, type StepResult } from '../../../src/extract/connector.ts';
import { BodyCache } from '../../../src/extract/fetch/body-cache.ts';
import { RobotsCache } from '../../../src/extract/fetch/robots-cache.ts';
import { StepRunner } from '../../../src/extract/step-runner.ts';
import type { ExtractEvent, ExtractJobMessage, ExtractResult } from '../../../src/pools/extract-messages.ts';
import { PLAIN_OUTPUT } from '../../support/extraction-jobs.ts';

type Run = Operation['run'];

/** A worker's side with one connector, whose source is the test and whose clock stands until it is moved. */
function begin(run: Run): {
  events: ExtractEvent[];
  requests: EgressRequest[];
  runner: StepRunner;
  job(overrides?: Partial<ExtractJobMessage>): void;
  step(lease?: number): void;
  pass(ms: number): Promise<void>;
  grant(): Promise<void>;
  results(): ExtractResult[];
} {
  const operation = {
    name: 'item.list',
    record: { type: 'object', properties: { id: { type: 'string' }, size: { type: 'number' } } },
    run,
  };
  const connector = { id: 'made', operations: [operation] } as unknown as Connector;
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
            headers: { 'content-type': 'application/json' },
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
          output: PLAIN_OUTPUT,
          sessionJson: null,
          ...overrides,
        },
      }),
    step: (lease = 1) =>
      runner.order({ kind: 'steps', steps: [{ lease, job: 1, stateJson: '{"page":3}', recordsLeft: 5 }] }),
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

describe('a step', () => {
  test('is run with its state, and its records come back shaped, as lines with their lengths', async () => {
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

  test('waits for a permit before each request, gives it back, and counts what it cost', async () => {
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

  test('that fails says why, and a mistake of the connector is an internal error', async () => {
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

  test('drops records that a schema refuses and counts them, or fails where it must', async () => {
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

  test('is given up after five minutes of its own, and a wait for its turn is not its own', async () => {
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

  test('of a job that is over gives its permit back and asks for nothing more', async () => {
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
    ['a job that nobody told of', {}, false],
    ['an operation that there is no more', { operation: 'item.gone' }, true],
    ['output that cannot be', { output: { ...PLAIN_OUTPUT, fields: ['no.such'] } }, true],
  ])('of %s fails as an internal error', async (_name, overrides, isTold) => {
    const at = begin(() => Promise.resolve(NOTHING));
    if (isTold) at.job(overrides);
    at.step();
    await at.pass(0);
    expect(at.results()).toMatchObject([{ failure: { reason: 'internal_error' } }]);
  });
});
