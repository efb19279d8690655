import type { CustomerNumber } from '../../../../src/kernel/brand.ts';
import { ColdHeaders } from '../../../../src/kernel/cold-headers.ts';
import type { Exchange, RequestHead } from '../../../../src/http/exchange.ts';
import { newId } from '../../../../src/kernel/ids.ts';
import type {
  BrowserSession,
  Extraction,
  ExtractionDelivery,
  ExtractionId,
} from '../../../../src/work/extraction-job.ts';
import type { Journal } from '../../../../src/decide/journal.ts';
import { KeyCache } from '../../../../src/auth/key-cache.ts';
import { FailedAuthentications } from '../../../../src/decide/failed-authentications.ts';
import { LocalAdmission } from '../../../../src/local/local-admission.ts';
import { ReplayGuard } from '../../../../src/local/replay-guard.ts';
import { egressPolicy } from '../../../../src/egress/public-address.ts';
import { checkTarget } from '../../../../src/egress/egress-target.ts';
import type { Connector } from '../../../../src/extract/base/connector.ts';
import type { ExtractionControl, NewExtraction, NewSession } from '../../../../src/extract/base/jobs-port.ts';
import { extractionHandlers } from '../../../../src/api/extractions/extraction-handlers.ts';
import { bindRoutes } from '../../../../src/http/bind.ts';
import { createRouter } from '../../../../src/http/router.ts';
import { createEndpointFactory } from '../../../../src/api/kit/endpoint-factory.ts';
import { Cursors } from '../../../../src/api/kit/paging.ts';
import { createLog } from '../../../../src/observe/log.ts';
import { fakeClock, HEAD, NOW_SECONDS, PUBLIC_KEY, SECRET_KEY, storedKey } from '../../decide/support.ts';
import { sendWhole } from '../../../support/slices.ts';

export const NOW_MS = NOW_SECONDS * 1000;
/** Key of customer 8; `SECRET_KEY` is customer 7's. */
const OTHER_KEY = `sk_live_${'C'.repeat(38)}`;
export const SESSION_ID = newId('ses', NOW_MS);
export const STORE_FAULT = { kind: 'fault', code: 'store_write_failed', detail: 'MDB_PROBLEM inside' } as const;

const SAYS_ALL = { type: 'string', minLength: 1, maxLength: 20 };

/** Two operations: one with each kind of input, one without any. */
export const TEST_CONNECTOR: Connector = {
  id: 'tests',
  title: 'Tests',
  description: 'A source of these tests.',
  docsUrl: 'https://source.example/docs',
  terms: { termsUrl: null, attribution: 'By the tests', ratePolicy: 'None.' },
  operations: [
    {
      name: 'search.posts',
      description: 'Posts.',
      tier: 'basic',
      paging: 'None.',
      input: {
        type: 'object',
        properties: {
          url: SAYS_ALL,
          site: { type: 'string' },
          query: { ...SAYS_ALL, pattern: '\\S' },
          sort: { type: 'string', enum: ['new', 'old'] },
          depth: { type: 'integer', minimum: 0, maximum: 9 },
          paths: { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1, maxItems: 3 },
        },
        required: ['query'],
        additionalProperties: false,
      },
      record: {
        type: 'object',
        properties: {
          id: { type: 'string' },
          title: { type: ['string', 'null'] },
          author: { type: ['object', 'null'], properties: { name: { type: ['string', 'null'] } } },
        },
        required: ['id', 'title', 'author'],
      },
      example: { input: { query: 'tea' }, record: { id: '1', title: 'Tea', author: { name: 'Ada' } } },
      start: (input) =>
        input['query'] === 'nonsense'
          ? { kind: 'fault', pointer: '/query', message: 'This finds nothing.' }
          : { kind: 'steps', steps: [{ key: 'first', state: { query: input['query'] ?? '' } }] },
      run: () => Promise.reject(new Error('nothing is fetched here')),
    },
    {
      name: 'site.all',
      description: 'All.',
      tier: 'standard',
      paging: 'None.',
      input: { type: 'object', properties: {}, required: [], additionalProperties: false },
      record: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      example: { input: {}, record: { id: '1' } },
      start: () => ({ kind: 'steps', steps: [{ key: 'first', state: {} }] }),
      run: () => Promise.reject(new Error('nothing is fetched here')),
    },
  ],
};

export const GOOD = { connector: 'tests', operation: 'search.posts', input: { query: 'tea' } };

export const STORE: ExtractionDelivery = {
  kind: 'store',
  status: 'pending',
  waitSeconds: null,
  url: null,
  batchSize: null,
  s3: null,
};

export function extraction(changes: Partial<Extraction> = {}): Extraction {
  return {
    id: newId('ext', NOW_MS) as ExtractionId,
    customer: 7 as CustomerNumber,
    requestId: newId('req', NOW_MS),
    connector: 'tests',
    operation: 'search.posts',
    input: { query: 'tea' },
    collect: { mode: 'limit', limit: 100 },
    output: {
      format: 'json',
      fields: null,
      rename: {},
      flatten: false,
      schema: null,
      onInvalid: 'drop',
      csv: { delimiter: ',', bom: false, header: true },
    },
    session: null,
    delivery: STORE,
    status: 'queued',
    counts: { collected: 0, target: 100, pages: 0, errors: 0, duplicates: 0 },
    usage: { credits: 0, tier: 'basic' },
    failure: null,
    notes: [],
    waitingUntilMs: null,
    createdAtMs: NOW_MS,
    startedAtMs: null,
    finishedAtMs: null,
    expiresAtMs: null,
    ...changes,
  };
}

export const SUCCEEDED: Partial<Extraction> = {
  status: 'succeeded',
  counts: { collected: 3, target: 3, pages: 1, errors: 0, duplicates: 0 },
  usage: { credits: 1, tier: 'standard' },
  startedAtMs: NOW_MS + 1_999,
  finishedAtMs: NOW_MS + 5_000,
  expiresAtMs: NOW_MS + 90_000_000,
};

export const FAILED: Partial<Extraction> = {
  status: 'failed',
  failure: { reason: 'source_unavailable', retryable: true },
};

/** A record as it is stored. */
export function line(n: number, title = `Tea ${n}`): string {
  const meta = { id: String(n), source_url: `https://source.example/${n}`, fetched_at: '2026-11-21T12:00:00.000Z' };
  return `${JSON.stringify({ id: String(n), title, author: { name: 'Ada' }, _meta: meta })}\n`;
}

export interface Sent {
  readonly status: number;
  readonly fields: string;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

export interface AskOptions {
  readonly key?: string;
}

/** The endpoints behind the real router and the real verification, with jobs in memory. */
export function setUp(connectors: readonly Connector[] = [TEST_CONNECTOR], allow: readonly string[] = []) {
  const jobs: Extraction[] = [];
  const sessions: BrowserSession[] = [];
  const records = new Map<ExtractionId, readonly string[]>();
  const created: NewExtraction[] = [];
  const madeSessions: NewSession[] = [];
  const calls: unknown[][] = [];
  const waiters = new Set<() => void>();

  const control: { -readonly [Name in keyof ExtractionControl]: ExtractionControl[Name] } = {
    async create(given) {
      const { customer } = given;
      await Promise.resolve();
      if (
        given.session !== null &&
        !sessions.some(({ id, customer: owner }) => id === given.session && owner === customer)
      )
        return { kind: 'unknown_session' };
      created.push(given);
      const { requestId, connector, operation, input, collect, output, session, delivery } = given;
      const job = extraction({ customer, requestId, connector, operation, input, collect, output, session, delivery });
      jobs.unshift(job);
      return { kind: 'created', job };
    },
    find: (customer, id) => jobs.find((job) => job.customer === customer && job.id === id) ?? null,
    page(customer, query) {
      calls.push(['page', customer, query]);
      return Promise.resolve(
        pageOf(
          jobs.filter((job) => job.customer === customer),
          query,
        ),
      );
    },
    cancel(customer, id) {
      calls.push(['cancel', customer, id]);
      const job = control.find(customer, id);
      if (job === null) return Promise.resolve({ kind: 'not_found' });
      if (job.status === 'succeeded' || job.status === 'failed') return Promise.resolve({ kind: 'ended', job });
      const failure = { reason: 'cancelled', retryable: false } as const;
      return Promise.resolve({ kind: 'cancelled', job: change(id, { status: 'failed', failure }) });
    },
    waitFor(customer, id, timeoutMs) {
      calls.push(['waitFor', id, timeoutMs]);
      return new Promise((done) => {
        const timer = setTimeout(() => finish(), timeoutMs);
        const finish = (): void => {
          const job = control.find(customer, id);
          clearTimeout(timer);
          waiters.delete(look);
          done(job);
        };
        const look = (): void => {
          const job = control.find(customer, id);
          if (job === null || job.status === 'succeeded' || job.status === 'failed') finish();
        };
        waiters.add(look);
        look();
      });
    },
    records(_customer, id, { fromSeq, recordsMax, bytesMax }) {
      calls.push(['records', id, { fromSeq, recordsMax, bytesMax }]);
      const lines = records.get(id) ?? [];
      const rows = lines.slice(fromSeq, fromSeq + recordsMax);
      const nextSeq = fromSeq + rows.length < lines.length ? fromSeq + rows.length : null;
      // Chunks contain what a step found: here two records each.
      const chunks = [];
      for (let at = 0; at < rows.length; at += 2) {
        const two = rows.slice(at, at + 2);
        chunks.push({ firstSeq: fromSeq + at, records: two.length, bytes: Buffer.from(two.join('')) });
      }
      return { chunks, nextSeq };
    },
    measureRecords(customer, id, query) {
      const { chunks, nextSeq } = control.records(customer, id, query);
      const count = chunks.reduce((sum, chunk) => sum + chunk.records, 0);
      return Promise.resolve({ records: count, chunkBytesMax: 1_000, nextSeq });
    },
    async *streamRecords(_customer, id, { fromSeq, recordsMax }) {
      const lines = (records.get(id) ?? []).slice(fromSeq, fromSeq + recordsMax);
      // Chunks contain what a step found: here two records each.
      for (let at = 0; at < lines.length; at += 2) {
        const two = lines.slice(at, at + 2);
        yield { firstSeq: fromSeq + at, records: two.length, bytes: Buffer.from(two.join('')) };
      }
    },
    findIdempotent: () => ({ kind: 'new' }),
    failureOf: () => null,
    sessions: {
      create(given) {
        madeSessions.push(given);
        const { customer, session, expiresAtMs } = given;
        const made = {
          id: newId('ses', NOW_MS),
          customer,
          host: session.host,
          createdAtMs: NOW_MS,
          expiresAtMs: expiresAtMs ?? NOW_MS + 86_400_000,
        };
        sessions.unshift(made);
        return Promise.resolve({ kind: 'created', session: made });
      },
      find: (customer, id) => sessions.find((one) => one.customer === customer && one.id === id) ?? null,
      page: (customer, query) =>
        Promise.resolve(
          pageOf(
            sessions.filter((one) => one.customer === customer),
            query,
          ),
        ),
      remove(customer, id) {
        const at = sessions.findIndex((one) => one.customer === customer && one.id === id);
        if (at < 0) return Promise.resolve({ kind: 'not_found' });
        sessions.splice(at, 1);
        return Promise.resolve({ kind: 'removed' });
      },
    },
  };

  function change(id: ExtractionId, changes: Partial<Extraction>): Extraction {
    const at = jobs.findIndex((job) => job.id === id);
    const job = extraction({ ...jobs[at], ...changes });
    jobs[at] = job;
    for (const look of waiters) look();
    return job;
  }

  const keyCache = new KeyCache();
  keyCache.load([
    storedKey(SECRET_KEY),
    storedKey(PUBLIC_KEY),
    storedKey(OTHER_KEY, { customer: 8 as CustomerNumber, number: 3 }),
  ]);
  const endpoint = createEndpointFactory({
    clock: fakeClock(),
    keyCache,
    failures: new FailedAuthentications(),
    admission: new LocalAdmission(new ReplayGuard(1_000, Buffer.alloc(16)), { stage: () => {} }),
    journal: {} as Journal,
    log: createLog('silent'),
    resetRead: () => {},
    onRefused: () => {},
  });
  const policy = egressPolicy(allow);
  const router = createRouter(
    bindRoutes(
      extractionHandlers(endpoint, {
        ofAllNodes: endpoint,
        control,
        connectors,
        cursors: new Cursors(Buffer.alloc(32)),
        checkTarget: (url) => checkTarget(url, policy),
        bases: {},
      }),
      endpoint.refusalFields,
    ),
    () => {},
  );

  /** Resolves with the response; for a call that waits for a job, once it responds. */
  function ask(method: string, target: string, body?: unknown, options: AskOptions = {}): Promise<Sent> {
    const [path = '', query = ''] = target.split('?');
    const text = body === undefined ? '' : JSON.stringify(body);
    return new Promise((resolve) => {
      let answers = 0;
      const exchange: Exchange = {
        aborted: false,
        remoteAddress: () => '192.0.2.1',
        peerAddress: () => '192.0.2.1',
        pauseUntil: () => {},
        readBody: (_max, done) => done(Buffer.from(text)),
        send(status, fields, sent) {
          if (++answers > 1) throw new Error('there were two answers');
          const text = String(sent);
          resolve({ status, fields, text, json: parse(text) });
        },
        addFields: () => {},
        sendStream: sendWhole((...sent) => exchange.send(...sent)),
      };
      const authorization = `Bearer ${options.key ?? SECRET_KEY}`;
      const unsigned = { svcKey: '', svcTimestamp: '', svcRequestId: '', svcSignature: '', authorization };
      const contentLength = body === undefined ? -1 : Buffer.byteLength(text);
      const head: RequestHead = {
        ...HEAD,
        ...unsigned,
        method,
        path,
        query,
        contentLength,
        cold: new ColdHeaders(),
      };
      router(head, exchange);
    });
  }

  /** Adds a job with records to the store. */
  function given(changes: Partial<Extraction> = {}, lines: readonly string[] = []): Extraction {
    const job = extraction(changes);
    jobs.unshift(job);
    records.set(job.id, lines);
    return job;
  }

  return { ask, calls, change, control, created, given, jobs, madeSessions, endpoint, records, sessions, waiters };
}

/** Returns the rows after `after`, and the start of the next page. */
function pageOf<T extends { readonly id: Id }, Id extends string>(
  newestFirst: readonly T[],
  { after, limit }: { readonly after: Id | null; readonly limit: number },
): { readonly rows: readonly T[]; readonly next: Id | null } {
  const from = after === null ? 0 : newestFirst.findIndex(({ id }) => id === after) + 1;
  const rows = newestFirst.slice(from, from + limit);
  return { rows, next: from + limit < newestFirst.length ? (rows.at(-1)?.id ?? null) : null };
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
