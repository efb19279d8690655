import {
  operationFor,
  SourceFailure,
  type FoundRecord,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
  type Operation,
  type StartResult,
  type Step,
  type StepResult,
} from '../../base/connector.ts';
import { normalisedUrl } from '../../read/urls.ts';
import * as schema from '../kit/schema.ts';
import { PAGE_URL } from './fields.ts';

/** Choice: more addresses belong to several jobs. */
const URLS_MAX = 1_000;

const LIST_FIELDS: Readonly<Record<string, JsonSchema>> = {
  urls: {
    type: 'array',
    items: PAGE_URL,
    minItems: 1,
    maxItems: URLS_MAX,
    description: 'Addresses of pages instead of `url`, each read once. The records have their order.',
  },
  on_error: schema.choiceInput(
    'With `urls`: whether an address that cannot be read is skipped, or is a record whose fields are null, with the reason in `error`. It counts as an error of the job in both cases.',
    ['skip', 'record'],
    'skip',
  ),
};

const ERROR_FIELD = schema.textField(
  'Why the address could not be read, as in `failure` of a job; null if it was read.',
);

/** Fields of records that name their page. */
const PAGE_FIELDS = ['url', 'page_url'];

/**
 * Lets an operation that reads one page read a list of them. `check` returns what is wrong with the rest of an input, null if nothing is;
 * `operation.start` then checks the address alone.
 */
export function overUrls(
  operation: Operation,
  check: (input: JsonObject) => Extract<StartResult, { kind: 'fault' }> | null = () => null,
): Operation {
  const { properties } = operation.input as { readonly properties: Readonly<Record<string, JsonSchema>> };
  const required = (operation.input['required'] as readonly string[]).filter((name) => name !== 'url');
  return {
    ...operation,
    input: schema.inputSchema({ ...properties, ...LIST_FIELDS }, required),
    start(input) {
      const { urls, ...one } = input;
      const isList = Array.isArray(urls);
      if (!isList && input['url'] === undefined)
        return { kind: 'fault', pointer: '/url', code: 'required', message: 'Either url or urls is required.' };
      if (isList && input['url'] !== undefined)
        return { kind: 'fault', pointer: '/urls', message: 'An input has either url or urls.' };
      const started = isList ? startAll(urls as readonly JsonValue[], one, operation) : operation.start(input);
      return started.kind === 'fault' ? started : (check(input) ?? started);
    },
    forInput(input) {
      const own = operationFor(operation, input);
      if (!Array.isArray(input['urls']) || input['on_error'] !== 'record') return own;
      const record = withError(own.record);
      return {
        record,
        run: async (step, source, want) => {
          try {
            const found = await own.run(step, source, want);
            const records = found.records.map((one) => ({ ...one, fields: { ...one.fields, error: null } }));
            return { ...found, records };
          } catch (error) {
            if (!(error instanceof SourceFailure) || isOfJob(error)) throw error;
            return failedRecord((step as { readonly url: string }).url, record, error);
          }
        },
      };
    },
  };
}

function startAll(urls: readonly JsonValue[], one: JsonObject, operation: Operation): StartResult {
  const steps = new Map<string, Step>();
  for (const [at, url] of urls.entries()) {
    const started = operation.start({ ...one, url });
    if (started.kind === 'fault') return { ...started, pointer: started.pointer.replace(/^\/url$/, `/urls/${at}`) };
    for (const step of started.steps) if (!steps.has(step.key)) steps.set(step.key, step);
  }
  return { kind: 'steps', steps: [...steps.values()] };
}

/** Failures that end the job, or postpone the step. */
function isOfJob({ reason, waitMs }: SourceFailure): boolean {
  return waitMs !== null || reason === 'session_expired' || reason === 'limit_reached' || reason === 'cancelled';
}

function withError(record: JsonSchema): JsonSchema {
  const own = Object.entries(record['properties'] as Readonly<Record<string, JsonSchema>>);
  const properties = Object.fromEntries(own.map(([name, property]) => [name, nullable(property)]));
  return schema.recordSchema({ ...properties, error: ERROR_FIELD });
}

function nullable(property: JsonSchema): JsonSchema {
  const types = [property['type'] ?? []].flat() as readonly string[];
  return types.length === 0 || types.includes('null') ? property : { ...property, type: [...types, 'null'] };
}

function failedRecord(url: string, record: JsonSchema, { reason, message: detail }: SourceFailure): StepResult {
  const names = Object.keys(record['properties'] as JsonObject);
  const valueOf = (name: string): JsonValue => (PAGE_FIELDS.includes(name) ? url : name === 'error' ? reason : null);
  const fields = Object.fromEntries(names.map((name) => [name, valueOf(name)]));
  const found: FoundRecord = { id: `${normalisedUrl(url)} error`, sourceUrl: url, fields };
  return { records: [found], next: [], total: null, failed: { reason, detail } };
}
