import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';
import { createGuardedClient } from '../../src/egress/guarded-client.ts';
import type { JsonObject, JsonValue } from '../../src/extract/base/connector.ts';
import { CONNECTORS } from '../../src/extract/connectors/connector-table.ts';
import { BodyCache } from '../../src/extract/fetch/body-cache.ts';
import { RobotsCache } from '../../src/extract/fetch/robots-cache.ts';
import { createSource } from '../../src/extract/fetch/guarded-source.ts';
import { heldToSchema } from '../conformance/records.ts';
import { runOperation, type Run } from '../conformance/run-operation.ts';

interface Content {
  readonly wiki: { readonly boats: number; readonly entries: number; readonly authors: readonly string[] };
  readonly blog: { readonly posts: number; readonly pages: number; readonly comments: number; readonly found: number };
}

/** What the software was filled with. */
export const CONTENT = JSON.parse(
  readFileSync(new URL('../../scripts/real-software/content.json', import.meta.url), 'utf8'),
) as Content;

/** Where `scripts/real-software.sh` has started it. */
export function addressOf(name: 'REAL_WIKI' | 'REAL_BLOG' | 'REAL_PLAIN_BLOG'): string {
  const address = process.env[name];
  if (address === undefined) throw new Error(`${name} is not set: npm run test:real`);
  return address;
}

const client = createGuardedClient({ allow: ['127.0.0.0/8'] });
afterAll(() => client.close());

/** Returns a source as the extraction workers use it, without the per-domain rate limit: the servers that it queries here are ours. */
function realSource() {
  return createSource({
    client,
    polite: { permit: () => Promise.resolve(), release: () => {}, report: () => {} },
    robots: new RobotsCache(),
    bodies: new BodyCache(),
    clock: { nowMs: () => Date.now(), wait: (ms) => new Promise((done) => setTimeout(done, ms)) },
    random: Math.random,
    userAgent: 'Gatehouse/0.1',
    session: null,
    base: null,
  });
}

export interface RealRun extends Run {
  readonly fields: readonly JsonObject[];
  /** Pages and API calls that succeeded. */
  readonly fetches: number;
}

/** Runs an operation on the real software, and asserts that its records match the published schema. */
export async function extracted(
  connector: string,
  operation: string,
  input: JsonObject,
  options: { readonly limit?: number } = {},
): Promise<RealRun> {
  const found = CONNECTORS.find(({ id }) => id === connector)?.operations.find(({ name }) => name === operation);
  if (found === undefined) throw new Error(`no operation ${connector} ${operation}`);
  const source = realSource();
  const run = await runOperation(found, input, source, options);
  heldToSchema(found, run.records);
  return { ...run, fields: run.records.map(({ fields }) => fields), fetches: source.usage().pages };
}

/** Returns the texts for the numbers from 1 to `count`. */
export function numbered(count: number, text: (number: number) => string): readonly string[] {
  return Array.from({ length: count }, (_, at) => text(at + 1));
}

/** Returns a line for each text that is in only one of the two lists or was found twice; at most ten, because there may be hundreds. */
export function difference(found: readonly (JsonValue | undefined)[], expected: readonly string[]): readonly string[] {
  const texts = found.map((one) => (typeof one === 'string' ? one : JSON.stringify(one ?? null)));
  return [
    ...expected.filter((one) => !texts.includes(one)).map((one) => `missing: ${one}`),
    ...texts.filter((one, at) => !expected.includes(one) || texts.indexOf(one) !== at).map((one) => `too much: ${one}`),
  ].slice(0, 10);
}

/** A field that has to be text. */
export function textIn(fields: JsonObject | undefined, name: string): string {
  const value = fields?.[name];
  if (typeof value !== 'string') throw new Error(`${name} is ${JSON.stringify(value)}`);
  return value;
}
