import type { JsonObject, JsonSchema, Operation, Page, StepResult } from '../../base/connector.ts';
import { readHtml, type HtmlPage } from '../../read/html.ts';
import { normalisedUrl } from '../../read/urls.ts';
import { parseAddress } from './page-address.ts';
import { PAGE_INPUT } from './fields.ts';

interface Reading {
  readonly name: string;
  readonly description: string;
  readonly record: JsonSchema;
  readonly example: JsonObject;
  readonly read: (html: HtmlPage, page: Page) => Pick<StepResult, 'records' | 'leftOut'>;
}

interface PageStep extends JsonObject {
  readonly url: string;
}

/** Creates an operation that reads a single given page in one step. */
export function singlePage({ name, description, record, example, read }: Reading): Operation {
  return {
    name,
    description,
    input: PAGE_INPUT,
    record,
    example: { input: { url: 'https://www.example.com/news/harbour' }, record: example },
    tier: 'standard',
    paging: 'One page is read.',
    start(input) {
      const address = parseAddress(input);
      if (address.kind === 'fault') return { kind: 'fault', pointer: '/url', message: address.message };
      return { kind: 'steps', steps: [{ key: normalisedUrl(address.url), state: { url: address.url } }] };
    },
    async run(step, source) {
      const page = await source.page((step as PageStep).url);
      const found = read(readHtml(page.text, page.url), page);
      // Returns all records even if fewer are wanted, because the output schema may reject some.
      return { ...found, next: [], total: found.records.length };
    },
  };
}
