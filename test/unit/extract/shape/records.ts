import type { OutputOptions } from '../../../../src/work/extraction-job.ts';
import type { JsonObject, JsonSchema } from '../../../../src/extract/base/connector.ts';
import { parseOutput } from '../../../../src/extract/shape/output-options.ts';
import { createShaper, type FullRecord, type Shaper } from '../../../../src/extract/shape/shaper.ts';

const text = { type: ['string', 'null'] };

/** A record schema with each kind of member: nested, a list of objects, an open object, and one that may be null. */
export const ARTICLE: JsonSchema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    title: text,
    author: {
      type: ['object', 'null'],
      properties: { name: text, home: { type: 'object', properties: { city: text, country: text } } },
    },
    score: { type: ['number', 'null'] },
    tags: {
      type: 'array',
      items: { type: 'object', properties: { name: { type: 'string' }, weight: { type: 'number' } } },
    },
    data: { type: 'object' },
  },
  required: ['id', 'title', 'author', 'score', 'tags', 'data'],
  additionalProperties: false,
};

export const META = { id: 'a1', seq: 1, source_url: 'https://example.com/a1', fetched_at: '2026-11-21T06:00:00Z' };

export const RECORD: FullRecord = {
  id: 'a1',
  title: 'Tea, "green"',
  author: { name: 'Ada', home: { city: 'Bath', country: 'GB' } },
  score: -5,
  tags: [
    { name: 'tea', weight: 1 },
    { name: 'cup', weight: 2 },
  ],
  data: { x: { y: 1 } },
  _meta: META,
};

export function outputOf(json: JsonObject): OutputOptions {
  const parsed = parseOutput(json);
  if (parsed.kind === 'faults') throw new Error(JSON.stringify(parsed.errors));
  return parsed.output;
}

export function shaperOf(json: JsonObject, schema: JsonSchema = ARTICLE): Shaper {
  const created = createShaper(outputOf(json), schema);
  if (created.kind === 'faults') throw new Error(JSON.stringify(created.errors));
  return created.shaper;
}

export function faultsOf(
  json: JsonObject,
  schema: JsonSchema = ARTICLE,
): readonly (readonly [pointer: string, code: string])[] {
  const parsed = parseOutput(json);
  const created = parsed.kind === 'ok' ? createShaper(parsed.output, schema) : parsed;
  return created.kind === 'ok' ? [] : created.errors.map(({ pointer, code }) => [pointer, code]);
}

/** Returns the shaped record without `_meta`, or the reason why there is none. */
export function shaped(json: JsonObject, record: JsonObject = {}): JsonObject | string {
  const result = shaperOf(json).shape({ ...RECORD, ...record });
  if (result.kind !== 'record') return result.kind;
  const { _meta: meta, ...fields } = result.value;
  if (meta !== RECORD._meta) throw new Error('_meta is not the record’s');
  return fields;
}
