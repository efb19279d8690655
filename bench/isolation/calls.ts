import { hashOf, type Seeded } from './seed.ts';

/** The largest permitted call of an endpoint. */
export interface Call {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'OPTIONS';
  readonly path: string;
  readonly body?: string;
  /** Header fields besides those of every call. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent without the customer's key. */
  readonly isKeyless?: boolean;
  /** Signed with the key instead of naming it. */
  readonly isSigned?: boolean;
}

const BODY_BYTES = 1_048_576;
const ROWS = 1_000;

export const get = (name: string, path: string): Call => ({ name, method: 'GET', path });
export const post = (name: string, path: string, body: unknown): Call => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  if (Buffer.byteLength(text) > BODY_BYTES) throw new Error(`the body of ${name} is too large`);
  return { name, method: 'POST', path, body: text };
};
const extraction = (output: object, input: object = { query: 'bread' }): object => ({
  connector: 'openlibrary',
  operation: 'search.works',
  input,
  output,
});
const entry = (n: number): object => ({ fingerprint_hash: hashOf(n), action: 'watch', note: 'n'.repeat(500) });

export function largestCalls({ jobId }: Seeded): readonly Call[] {
  return [
    get('lists, 1,000 entries', '/v1/lists'),
    get('candidates', '/v1/lists/candidates?limit=1000'),
    get('decisions', '/v1/decisions?limit=1000'),
    get('decisions, searched', '/v1/decisions?limit=1000&q=85.'),
    get('top identities', '/v1/top?by=identity&count=identities'),
    get('lists, none of 10,000 fits', '/v1/lists?limit=1000&action=allow'),
    get('lists, with hits', '/v1/lists?limit=100&usage=true'),
    get('shadow reviews', '/v1/shadow-reviews?limit=1000'),
    get('shadow reviews, no match', '/v1/shadow-reviews?limit=1000&verdict=fraud'),
    get('deliveries', '/v1/webhooks/deliveries?limit=1000'),
    get('webhooks', '/v1/webhooks'),
    get('extractions', '/v1/extractions?limit=1000'),
    get('records, JSON, 10 MB', `/v1/extractions/${jobId}/records?limit=1000`),
    get('records, NDJSON', `/v1/extractions/${jobId}/records?limit=1000&format=ndjson`),
    get('records, CSV', `/v1/extractions/${jobId}/records?limit=1000&format=csv`),
    get('sessions', '/v1/sessions?limit=1000'),
    get('connectors', '/v1/connectors'),
    get('connectors/generic', '/v1/connectors/generic'),
    get('metrics', '/metrics'),
    post('list entry, 1 MB of numbers', '/v1/lists', withMuch('{"fingerprint_hash":"x","junk":[', '0,', '0]}')),
    post('list entry, 1 MB of objects', '/v1/lists', withMuch('{"fingerprint_hash":"x","junk":[', '{"a":{}},', '{}]}')),
    post('list entry, 1 MB of names', '/v1/lists', manyNames()),
    post('list entry, 1 MB of text', '/v1/lists', { ...entry(1), note: 'é'.repeat(500_000) }),
    post('label, 1 MB of numbers', '/v1/labels', withMuch('{"request_id":"x","junk":[', '0,', '0]}')),
    post(
      'lists/batch, 1,000 entries',
      '/v1/lists/batch',
      Array.from({ length: ROWS }, (_, n) => entry(n)),
    ),
    post(
      'lists/batch, 1,000 invalid',
      '/v1/lists/batch',
      Array.from({ length: ROWS }, () => ({ action: 1 })),
    ),
    post('lists/batch, 350,000 invalid', '/v1/lists/batch', withMuch('[', '[],', '[]]')),
    post(
      'webhook, 1 MB of types',
      '/v1/webhooks',
      withMuch('{"url":"https://e.example/","event_types":[', '0,', '0]}'),
    ),
    post('session, 1 MB of cookies', '/v1/sessions', {
      host: 'example.com',
      cookies: Array.from({ length: 9_000 }, (_, n) => ({ name: `n${n}`, value: 'v'.repeat(70) })),
    }),
    post(
      'extraction, 1 MB of fields',
      '/v1/extractions',
      extraction({ fields: Array.from({ length: 340_000 }, () => '') }),
    ),
    post(
      'extraction, 1 MB of input',
      '/v1/extractions',
      extraction({}, { query: Array.from({ length: 500_000 }, () => 0) }),
    ),
    post('extraction, 50 patterns', '/v1/extractions', extraction({ schema: patterns(50) })),
    post(
      'extraction, 2,000 schemas',
      '/v1/extractions',
      extraction({ schema: { allOf: Array.from({ length: 1_990 }, () => ({ type: 'object' })) } }),
    ),
    post(
      'extraction, 20,000 names',
      '/v1/extractions',
      extraction({ rename: Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`a.b${n}`, `c${n}`])) }),
    ),
  ];
}

/** Repeats `part` until the body has the maximum size. */
function withMuch(start: string, part: string, end: string): string {
  return start + part.repeat(Math.floor((BODY_BYTES - start.length - end.length) / part.length)) + end;
}

function manyNames(): string {
  const names = Array.from({ length: 75_000 }, (_, n) => [`name${n}`, 1]);
  return JSON.stringify({ fingerprint_hash: 'x', ...Object.fromEntries(names) });
}

/** Schemas that are rejected because of the total size of their repetitions, after all of them were parsed. */
function patterns(count: number): object {
  const pattern = '(x{1000}|y{1000})'.repeat(55);
  return { properties: Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, { pattern }])) };
}
