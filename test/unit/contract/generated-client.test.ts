import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import openapiTypescript from 'openapi-typescript';
import { expect, test } from 'vitest';

const DOCUMENT = new URL('../../../docs/openapi.json', import.meta.url);
const COMPILER = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url));

/** A customer's client on top of the generated types: `call` sends a request with the body and response types of its path. */
const CLIENT = `
import type { paths } from './api.ts';

type Body<Operation> = Operation extends { requestBody: { content: { 'application/json': infer Json } } } ? Json : never;
type Success<Responses, Status extends keyof Responses> = Responses[Status] extends {
  content: { 'application/json': infer Json };
}
  ? Json
  : never;

declare function call<Path extends keyof paths, Method extends keyof paths[Path], Status extends 200 | 201 | 202>(
  method: Method,
  path: Path,
  status: Status,
  body?: Body<paths[Path][Method]>,
  query?: paths[Path][Method] extends { parameters: { query?: infer Query } } ? Query : never,
): Promise<paths[Path][Method] extends { responses: infer R } ? (Status extends keyof R ? Success<R, Status> : never) : never>;
`;

const PROGRAM = `
const made = await call('post', '/v1/extractions', 202, {
  connector: 'hackernews',
  operation: 'search.posts',
  input: { query: 'tea' },
  collect: { limit: 50 },
  delivery: { type: 'store' },
});
export const id: string = made.id;

let cursor: string | null = null;
export const sources: string[] = [];
do {
  const page: { has_more: boolean; next_cursor: string | null; records: { _meta: { source_url: string } }[] } = await call(
    'get', '/v1/extractions/{id}/records', 200, undefined, cursor === null ? { limit: 100 } : { limit: 100, cursor });
  sources.push(...page.records.map((record) => record._meta.source_url));
  cursor = page.has_more ? page.next_cursor : null;
} while (cursor !== null);

const entry = await call('post', '/v1/lists', 201, { fingerprint_hash: '0'.repeat(64), action: 'block', note: null });
export const action: 'block' | 'allow' | 'watch' = entry.action;
await call('post', '/v1/lists/batch', 200, { entries: [{ fingerprint_hash: '0'.repeat(64), action: 'watch' }] });

const webhook = await call('post', '/v1/webhooks', 201, { url: 'https://shop.example/risk', event_types: ['BLOCK'] });
export const secret: string = webhook.secret;
`;

/** Each line contains one type error. */
const WRONG = [
  "await call('post', '/v1/lists', 201, { fingerprint_hash: '0', action: 'deny' });",
  "await call('post', '/v1/webhooks', 201, { url: 'https://shop.example/risk' });",
  "await call('get', '/v1/nothing', 200);",
  "(await call('get', '/v1/webhooks/{id}', 200)).url.missing;",
];

const OPTIONS = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--allowImportingTsExtensions'];

test('Types generated from docs/openapi.json accept correct client programs and reject wrong ones', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-client-'));
  try {
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await writeFile(join(folder, 'api.ts'), await openapiTypescript(DOCUMENT));
    await writeFile(join(folder, 'right.ts'), CLIENT + PROGRAM);
    await writeFile(join(folder, 'wrong.ts'), `${CLIENT}export {};\n${WRONG.join('\n')}\n`);
    expect(await compile(folder, 'right.ts')).toEqual([]);
    const wrong = (await compile(folder, 'wrong.ts')).map((line) => Number(/\((\d+),/.exec(line)?.[1]));
    const first = CLIENT.split('\n').length + 1;
    expect(new Set(wrong)).toEqual(new Set(WRONG.map((_line, index) => first + index)));
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** Returns the error lines of the compiler's output. */
async function compile(folder: string, file: string): Promise<string[]> {
  const run = promisify(execFile)(process.execPath, [COMPILER, ...OPTIONS, file], { cwd: folder });
  const output = await run.then(
    ({ stdout }) => stdout,
    (error: Error & { readonly stdout?: string }) => error.stdout ?? error.message,
  );
  return output.split('\n').filter((line) => /error TS/.test(line));
}
