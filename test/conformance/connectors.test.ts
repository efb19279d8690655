import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  carriesRest,
  operationFor,
  SourceFailure,
  type JsonObject,
  type JsonValue,
  type Operation,
} from '../../src/extract/base/connector.ts';
import { CONNECTORS, CONNECTORS_WITH_BASE } from '../../src/extract/connectors/connector-table.ts';
import { readSettings } from '../../src/app/settings.ts';
import { SOURCE_CASES } from '../sources/index.ts';
import { json, type SourceCase, type World } from '../sources/source-case.ts';
import { fakeSource, type FakeReply } from '../support/fake-source.ts';
import { IS_FULL } from '../support/long.ts';
import { faultsOf, heldToSchema, propertiesOf } from './records.ts';
import { runOperation, type Run } from './run-operation.ts';

/** Enough for three pages of the usual 100 records. */
const MANY = 303;
const FEW = 3;
/** Bytes that the cursor of a later page adds to a step. */
const CURSOR_BYTES_MAX = 1_100;
/** Includes the page on which the source is detected, and a list or a robots.txt with further addresses. */
const REQUESTS_FOR_FEW_MAX = 8;

const OPERATIONS = CONNECTORS.flatMap((connector) =>
  connector.operations.map((operation) => ({ name: `${connector.id} ${operation.name}`, connector, operation })),
);
const CASES = SOURCE_CASES.map((given) => ({
  ...given,
  name: `${given.connector} ${given.operation} ${JSON.stringify(given.input)}`,
  does: operationFor(operationOf(given), given.input),
}));

function operationOf({ connector, operation }: SourceCase): Operation {
  const found = OPERATIONS.find(({ name }) => name === `${connector} ${operation}`);
  if (found === undefined) throw new Error(`no operation ${connector} ${operation}`);
  return found.operation;
}

/** Runs an operation that may fail. Returns the reason of the failure, or null. */
async function reasonOf(operation: Operation, input: JsonObject, world: World): Promise<string | null> {
  try {
    const { records } = await runOperation(operation, input, fakeSource(world), { stepsMax: 8 });
    heldToSchema(operation, records);
    return null;
  } catch (error) {
    if (error instanceof SourceFailure) return error.reason;
    throw error;
  }
}

describe('the table of connectors', () => {
  it('No connector id occurs twice, and no operation occurs twice in a connector', () => {
    const ids = CONNECTORS.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const names = OPERATIONS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it('Each connector with a fixed source has a setting for its base address', () => {
    const env = CONNECTORS.map(({ id }) => [`GATEHOUSE_CONNECTOR_BASE_${id.toUpperCase()}`, `https://${id}.example`]);
    const read = readSettings(Object.fromEntries(env), CONNECTORS_WITH_BASE);
    const withHosts = CONNECTORS.filter(({ hosts }) => hosts !== undefined).map(({ id }) => id);
    expect(withHosts).toContain('github');
    expect(read).toMatchObject({
      kind: 'settings',
      settings: { connectorBases: Object.fromEntries(withHosts.map((id) => [id, `https://${id}.example`])) },
    });
    const bases = read.kind === 'settings' ? Object.keys(read.settings.connectorBases) : [];
    expect(bases.sort()).toEqual(withHosts.sort());
  });

  it('Each operation has a realistic source case', () => {
    const tried = new Set(SOURCE_CASES.map(({ connector, operation }) => `${connector} ${operation}`));
    expect(OPERATIONS.map(({ name }) => name).filter((name) => !tried.has(name))).toEqual([]);
  });

  it.each(CONNECTORS.map((connector) => [connector.id, connector] as const))(
    'The connector %s has an id, addresses, descriptions and operations',
    (id, connector) => {
      expect(id).toMatch(/^[a-z][a-z0-9]*$/);
      expect(new URL(connector.docsUrl).protocol).toBe('https:');
      expect(connector.terms.termsUrl ?? 'https://none.invalid').toMatch(/^https:\/\//);
      for (const text of [connector.title, connector.description, connector.terms.ratePolicy])
        expect(text).not.toBe('');
      expect(connector.operations.length).toBeGreaterThan(0);
    },
  );
});

describe.each(OPERATIONS)('$name', ({ operation }) => {
  it('The operation has a name of entity and kind, and describes its function and its paging', () => {
    expect(operation.name).toMatch(/^[a-z]+\.[a-z]+$/);
    for (const text of [operation.description, operation.paging]) expect(text).toMatch(/\.$/);
  });

  it('The schemas describe every property, and every property of a record is required', () => {
    expect(operation.input).toMatchObject({ type: 'object', additionalProperties: false });
    expect(operation.record['required']).toEqual(Object.keys(propertiesOf(operation.record)));
    for (const schema of [operation.input, operation.record])
      for (const property of Object.values(propertiesOf(schema)))
        expect(property).toMatchObject({ description: expect.stringMatching(/\S/) });
  });

  it('The example input and record of the operation match its schemas', () => {
    expect(faultsOf(operation.input, operation.example.input)).toEqual([]);
    expect(operation.start(operation.example.input).kind).toBe('steps');
    const record = operation.example.record;
    const own = operationFor(operation, operation.example.input);
    heldToSchema(own, [{ id: 'x', sourceUrl: 'https://x.example/', fields: record }]);
  });
});

describe.each(CASES)('$name', ({ does, input, world, paging, sizeAsked, hostIn, announcesTotal, ...given }) => {
  const { recordsMax = Infinity, emptyIsMissing = false, searches = false, largeCount: large = MANY } = given;
  /** A run over all records, shared by several tests. */
  let whole: Promise<Run> | null = null;
  const wholeRun = (): Promise<Run> => (whole ??= runOperation(does, input, fakeSource(world(large))));
  const unreadable = ['parse_failed', 'unsupported_content', null, ...(searches ? ['source_not_found'] : [])];

  it('The input of the case matches the schema', () => {
    expect(faultsOf(does.input, input)).toEqual([]);
  });

  it('An operation always begins with the same steps, with different keys, and does not change its input', () => {
    const frozen = freeze(structuredClone(input));
    const begun = does.start(frozen);
    expect(does.start(frozen)).toEqual(begun);
    const keys = begun.kind === 'steps' ? begun.steps.map(({ key }) => key) : [];
    expect(keys.length).toBeGreaterThan(0);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('The first steps are small, however long the input is', () => {
    const address = `wiki.example.org/${'x'.repeat(770)}`;
    const longest = Object.entries(propertiesOf(does.input)).flatMap(([name, schema]) => {
      if (name === hostIn) return [[name, address] as const];
      const { maxLength = 0, description = '' } = schema as {
        readonly maxLength?: number;
        readonly description?: string;
      };
      if (maxLength === 0 || description.endsWith('ISO 8601.')) return [];
      const texts = ['漢', 'x', '/'].map((character) => character.repeat(maxLength));
      const text = texts.find((one) => faultsOf(does.input, { ...input, [name]: one }).length === 0);
      return text === undefined ? [] : [[name, text] as const];
    });
    const begun = does.start({ ...input, ...Object.fromEntries(longest) });
    const steps = begun.kind === 'steps' ? begun.steps : [];
    expect(steps.length).toBeGreaterThan(0);
    for (const step of steps) expect(Buffer.byteLength(JSON.stringify(step))).toBeLessThan(4_096 - CURSOR_BYTES_MAX);
  });

  it.each(IS_FULL ? [0, 1, FEW, 100, 200, large] : [0, 1, FEW, 100, large])(
    'A source with %i records gives each record once, and the run ends',
    async (count) => {
      const run = count === large ? wholeRun() : runOperation(does, input, fakeSource(world(count)));
      if (count === 0 && emptyIsMissing) return expect(run).rejects.toMatchObject({ reason: 'source_not_found' });
      const { records, isDone } = await run;
      expect(records).toHaveLength(Math.min(count, recordsMax));
      expect(isDone).toBe(true);
      heldToSchema(does, records);
    },
  );

  it('An operation reads no more than the job still needs', async () => {
    const source = fakeSource(world(large));
    const { records } = await runOperation(does, input, source, { limit: FEW });
    expect(records).toHaveLength(Math.min(FEW, recordsMax));
    expect(source.urls.length).toBeLessThanOrEqual(REQUESTS_FOR_FEW_MAX);
    if (sizeAsked === null) return;
    for (const url of source.urls) expect(sizeAsked(new URL(url)) ?? 0).toBeLessThanOrEqual(FEW);
  });

  it('An operation sends requests only to the host of the operator or of the input', async () => {
    const usual = fakeSource(world(FEW));
    const moved = fakeSource(world(FEW), { base: 'http://127.0.0.1:9' });
    await runOperation(does, input, usual);
    await runOperation(does, input, moved, { stepsMax: 1 }).catch(() => null);
    const [asked] = moved.urls.map((url) => new URL(url));
    if (hostIn === null) expect(asked?.origin).toBe('http://127.0.0.1:9');
    else expect(asked?.host).toBe(hostOf(input[hostIn]));
    expect(new Set(usual.urls.map((url) => new URL(url).origin)).size).toBe(1);
  });

  it('The total is reported from the first to the last page when the source announces it', async () => {
    const count = Math.min(large, recordsMax);
    const few = await runOperation(does, input, fakeSource(world(large)), { limit: FEW });
    const all = await wholeRun();
    for (const { total } of [few, all]) expect(total).toBe(announcesTotal ? count : null);
  });

  it.skipIf(paging !== 'cursor')(
    'A later page that fails loses the rest of its list, and the first page does not',
    async () => {
      const begun = does.start(input);
      const [first] = begun.kind === 'steps' ? begun.steps : [];
      const { next } = await does.run(first?.state ?? {}, fakeSource(world(large)), { recordsLeft: FEW });
      expect(next.length).toBeGreaterThan(0);
      expect([first, ...next].map((step) => carriesRest(does, JSON.stringify(step?.state)))).toEqual([
        false,
        ...next.map(() => true),
      ]);
    },
  );

  it.skipIf(paging === 'none').each([
    ['returns the same page for every cursor', 1, 3],
    ['repeats its pages in a cycle', 3, 16],
  ])('A run ends when the source %s', async (_, length, stepsMax) => {
    const usual = await wholeRun();
    const { isDone, stepCount } = await runOperation(does, input, fakeSource(inRounds(world(large), length)));
    expect(isDone).toBe(true);
    expect(stepCount).toBeLessThanOrEqual(paging === 'walk' ? usual.stepCount : stepsMax);
  });

  it.each(STRANGE_ANSWERS)('A response with %s leads to a failure reason or to fewer records', async (_, reply) => {
    const reason = await reasonOf(does, input, () => reply);
    expect(unreadable).toContain(reason);
  });

  it('An operation survives any change of a part of the response', async () => {
    const replies = await repliesOf(does, input, world(FEW));
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.constantFrom(...STRANGE_VALUES), fc.nat(), async (place, value, reply) => {
        const changed = reply % replies.length;
        let asked = -1;
        const reason = await reasonOf(does, input, (request) => {
          asked += 1;
          const real = world(FEW)(request);
          return asked === changed ? withChange(real, place, value) : real;
        });
        expect([...unreadable, 'source_not_found']).toContain(reason);
      }),
      { numRuns: IS_FULL ? 60 : 8, seed: 7 },
    );
  });

  it.each([
    [404, 'source_not_found'],
    [410, 'source_not_found'],
    [401, 'login_required'],
    [403, 'access_denied'],
    [429, 'rate_limited_by_source'],
    [503, 'source_unavailable'],
  ])('A status of %i leads to the reason %s', async (status, reason) => {
    const refused: World = () => json({ message: 'No' }, {}, status);
    expect(await reasonOf(does, input, refused)).toBe(reason);
  });

  it('No input leads to a different host or path of the source', async () => {
    const usual = await firstPlace(does, input, world(FEW));
    for (const name of freeTextsOf(does, hostIn)) {
      for (const text of TREACHEROUS_TEXTS) {
        const hostile = { ...input, [name]: text };
        if (faultsOf(does.input, hostile).length > 0) continue;
        const place = await firstPlace(does, hostile, world(FEW));
        expect([name, text, place ?? usual]).toEqual([name, text, usual]);
      }
    }
  });
});

const STRANGE_VALUES: readonly JsonValue[] = [
  null,
  true,
  0,
  -1,
  1.5,
  Number.MAX_VALUE,
  '',
  'x',
  '\uD800',
  '0000-00-00T00:00:00',
  'http://[',
  'javascript:alert(1)',
  '..',
  [],
  [[]],
  [null],
  {},
  { constructor: null },
];

const STRANGE_ANSWERS: readonly (readonly [string, FakeReply])[] = [
  ['null', json(null)],
  ['an empty list', json([])],
  ['an empty object', json({})],
  ['a text', json('hello')],
  ['a number', json(5)],
  ['a list of anything', json([null, 5, 'x', {}, [], { id: {} }])],
  [
    'objects of wrong types',
    json({ items: 5, posts: {}, hits: 'x', docs: null, jobs: [[]], query: [], message: { items: {} } }),
  ],
  [
    'XML of another kind',
    { body: '<?xml version="1.0"?><note><to>You</to></note>', headers: { 'content-type': 'text/xml' } },
  ],
  ['broken XML', { body: '<rss version="2.0"><channel><item><title>x', headers: { 'content-type': 'text/xml' } }],
  ['bytes', { body: '\u0000\u0001\uFFFD<\u0000'.repeat(50), headers: { 'content-type': 'application/octet-stream' } }],
  ['HTML', '<!DOCTYPE html><title>Welcome</title><p>Nothing here</p>'],
  ['nothing', { body: '' }],
  ['broken JSON', { body: '{"items":[', headers: { 'content-type': 'application/json' } }],
];

const TREACHEROUS_TEXTS = [
  '..',
  '.',
  '../../admin',
  '@evil.example',
  '//evil.example/',
  'https://evil.example/',
  'x/../../../y',
  '..\\..\\x',
  'x?site=y#z',
  'a&b=c',
  '%2e%2e%2f',
  'ü ñ 漢',
  '\uD800',
  '\u0000',
  'x\'y"z',
];

/** Returns the host of an address with or without a scheme. */
function hostOf(address: JsonValue | undefined): string {
  const text = typeof address === 'string' ? address : '';
  return new URL(text.startsWith('http') ? text : `https://${text}`).host;
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) freeze(part);
  return Object.freeze(value);
}

/** Returns the names of inputs with free text, except the one that selects the host. */
function freeTextsOf(operation: Operation, hostIn: string | null): readonly string[] {
  return Object.entries(propertiesOf(operation.input)).flatMap(([name, schema]) =>
    (schema as JsonObject)['type'] === 'string' && !('enum' in (schema as JsonObject)) && name !== hostIn ? [name] : [],
  );
}

/** Returns host, path depth, user name and fragment of the first request, or null without a request. */
async function firstPlace(operation: Operation, input: JsonObject, world: World): Promise<string | null> {
  const source = fakeSource(world);
  if (operation.start(input).kind === 'fault') return null;
  await runOperation(operation, input, source, { stepsMax: 1 }).catch((error: unknown) => {
    if (!(error instanceof SourceFailure)) throw error;
  });
  if (source.urls[0] === undefined) return null;
  const url = new URL(source.urls[0]);
  return `${url.host} ${url.pathname.split('/').length} ${url.username}${url.hash}`;
}

/** Repeats the first `length` responses of each path, whatever is requested there. */
function inRounds(world: World, length: number): World {
  const met = new Map<string, FakeReply[]>();
  const turns = new Map<string, number>();
  return (request) => {
    const { pathname } = new URL(request.url);
    const replies = met.get(pathname) ?? [];
    met.set(pathname, replies);
    const turn = turns.get(pathname) ?? 0;
    turns.set(pathname, turn + 1);
    if (replies.length < length) replies.push(world(request));
    return replies[turn % length];
  };
}

async function repliesOf(operation: Operation, input: JsonObject, world: World): Promise<readonly FakeReply[]> {
  const replies: FakeReply[] = [];
  const recorded: World = (request) => {
    const reply = world(request);
    replies.push(reply);
    return reply;
  };
  await runOperation(operation, input, fakeSource(recorded));
  return replies;
}

/** Replaces one part of the reply's body; `place` is the index of the part. */
function withChange(reply: FakeReply, place: number, value: JsonValue): FakeReply {
  if (reply === null || reply === undefined || typeof reply === 'string' || reply instanceof SourceFailure)
    return reply;
  if (typeof reply.body === 'string') return { ...reply, body: withPiece(reply.body, place, value) };
  const count = partsIn(reply.body);
  let left = place % count;
  const change = (part: JsonValue): JsonValue => {
    if (left-- === 0) return value;
    if (Array.isArray(part)) return (part as readonly JsonValue[]).map(change);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([name, inner]) => [name, change(inner)]));
  };
  return { ...reply, body: change(reply.body), headers: { 'content-type': 'application/json', ...reply.headers } };
}

/** Replaces a piece of the text, which leads to truncated or unexpected markup. */
function withPiece(text: string, place: number, value: JsonValue): string {
  const from = place % (text.length + 1);
  return (
    text.slice(0, from) + (typeof value === 'string' ? value : JSON.stringify(value)) + text.slice(from + (place % 97))
  );
}

function partsIn(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, part) => sum + partsIn(part), 1);
}
