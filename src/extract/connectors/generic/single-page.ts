import type { JsonObject, JsonSchema, Operation, Page, StepResult } from '../../base/connector.ts';
import type { HtmlPage } from '../../read/html.ts';
import { readPageHtml } from '../../read/page-html.ts';
import { normalisedUrl } from '../../read/urls.ts';
import { parseAddress } from './page-address.ts';
import { PAGE_INPUT } from './fields.ts';

interface Reading {
  readonly name: string;
  readonly description: string;
  readonly record: JsonSchema;
  readonly example: JsonObject;
  /** Default: the address alone. */
  readonly input?: JsonSchema;
  /** Members of the input that `read` needs, and so the step. */
  readonly options?: (input: JsonObject) => JsonObject;
  readonly read: (html: HtmlPage, page: Page, step: JsonObject) => Pick<StepResult, 'records' | 'leftOut'>;
}

interface PageStep extends JsonObject {
  readonly url: string;
}

/** Creates an operation that reads a single given page in one step. */
export function singlePage({
  name,
  description,
  record,
  example,
  input = PAGE_INPUT,
  options,
  read,
}: Reading): Operation {
  return {
    name,
    description,
    input,
    record,
    example: { input: { url: 'https://www.example.com/news/harbour' }, record: example },
    tier: 'standard',
    paging: 'One page is read.',
    start(given) {
      const address = parseAddress(given);
      if (address.kind === 'fault') return { kind: 'fault', pointer: '/url', message: address.message };
      return {
        kind: 'steps',
        steps: [{ key: normalisedUrl(address.url), state: { url: address.url, ...options?.(given) } }],
      };
    },
    async run(step, source) {
      const page = await source.page((step as PageStep).url);
      const found = read(readPageHtml(page), page, step);
      // Returns all records even if fewer are wanted, because the output schema may reject some.
      return { ...found, next: [], total: found.records.length };
    },
  };
}
