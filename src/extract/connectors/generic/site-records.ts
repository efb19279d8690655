import type { FoundRecord, JsonObject, Page } from '../../base/connector.ts';
import { readArticle, wholeText } from '../../read/article.ts';
import { contentFormsOf, wholeMarkedContent } from '../../read/content-forms.ts';
import type { HtmlPage } from '../../read/html.ts';
import type { PageMeta } from '../../read/meta.ts';
import { readProducts, type Product } from '../../read/products.ts';
import { readStructured } from '../../read/structured.ts';
import { wordCount } from '../../read/page-text.ts';
import { normalisedUrl } from '../../read/urls.ts';
import * as schema from '../kit/schema.ts';
import type { Entry } from './crawl.ts';
import { CONTENT_FIELDS } from './fields.ts';
import type { Scope } from './scope.ts';

export const PAGE_RECORD = schema.recordSchema({
  url: schema.urlField('The page, after redirects.'),
  title: schema.textField('Without markup.'),
  description: schema.textField('A short summary.'),
  text: schema.textField('Plain text, one line for each paragraph.'),
  language: schema.textField('BCP 47 tag.'),
  status: schema.countField('HTTP status of the response.'),
  published_at: schema.dateField('When it was published.'),
  word_count: schema.countField('Number of words in the text.'),
  ...CONTENT_FIELDS,
});

export interface PageFields extends JsonObject {
  readonly url: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly text: string | null;
  readonly language: string | null;
  readonly status: number | null;
  readonly published_at: string | null;
  readonly word_count: number | null;
  readonly markdown: string | null;
  readonly html: string | null;
}

/** Reads the whole page if it has no article: in a crawl, a list of products or a contact page is wanted too. */
export function pageRecord(html: HtmlPage, page: Page, meta: PageMeta, scope: Scope): FoundRecord {
  const forms = contentFormsOf(scope.content);
  const article = readArticle(html, page.headers, forms);
  const text = article?.text ?? wholeText(html);
  const marked = article?.marked ?? wholeMarkedContent(html, forms);
  const fields: PageFields = {
    url: page.url,
    title: article?.title ?? meta.title,
    description: meta.description ?? article?.excerpt ?? null,
    text: forms.includes('text') ? text : null,
    language: article?.language ?? meta.language,
    status: page.status,
    published_at: article?.publishedAt ?? null,
    word_count: article?.wordCount ?? (text === null ? null : wordCount(text)),
    markdown: marked.markdown,
    html: marked.html,
  };
  const isTruncated = marked.isCut || article?.isTextTruncated === true;
  return { id: idOf(page.url, meta.canonicalUrl), sourceUrl: page.url, fields, ...(isTruncated && { isTruncated }) };
}

/**
 * A page that differs from its canonical URL only in the query is the same page. Other canonical URLs are wrong too often: many sites name
 * their front page on all other pages.
 */
function idOf(url: string, canonical: string | null): string {
  const isSame = canonical !== null && bare(canonical) === bare(url);
  return normalisedUrl(isSame ? canonical : url);
}

function bare(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

export const URL_RECORD = schema.recordSchema({
  url: schema.urlField('A page of the site.'),
  last_modified: schema.dateField('When it last changed, according to the site.'),
  found_in: schema.textField('`sitemap`, `feed`, `interface` (of the software that the site runs) or `link`.'),
});

export function urlRecord({ url: address, lastModified, foundIn }: Entry): FoundRecord {
  const [url = address] = address.split('#', 1);
  return { id: normalisedUrl(url), sourceUrl: url, fields: { url, last_modified: lastModified, found_in: foundIn } };
}

export const PRODUCT_RECORD = schema.recordSchema({
  url: schema.urlField('The product in the shop.'),
  name: schema.textField('As the shop shows it.'),
  description: schema.textField('Plain text.'),
  sku: schema.textField("The shop's own number; if there are several variants, that of the first one."),
  gtin: schema.textField('EAN, UPC or ISBN, digits only.'),
  brand: schema.textField('Brand or maker.'),
  price: schema.textField('Price of the cheapest offer: a decimal number.'),
  price_max: schema.textField('Price of the most expensive offer: a decimal number.'),
  currency: schema.textField('ISO 4217 code.'),
  availability: schema.textField("schema.org's term: `in_stock`, `out_of_stock`, `pre_order` and others."),
  image_url: schema.urlField('The first image.'),
  rating: schema.numberField('Average rating.'),
  review_count: schema.countField('Number of reviews or ratings behind that average.'),
});

export interface ProductFields extends JsonObject {
  readonly url: string;
  readonly name: string | null;
  readonly description: string | null;
  readonly sku: string | null;
  readonly gtin: string | null;
  readonly brand: string | null;
  readonly price: string | null;
  readonly price_max: string | null;
  readonly currency: string | null;
  readonly availability: string | null;
  readonly image_url: string | null;
  readonly rating: number | null;
  readonly review_count: number | null;
}

/** Returns the product that the page is about. Products that it only recommends or lists have pages of their own. */
export function productRecords(html: HtmlPage, page: Page, meta: PageMeta): readonly FoundRecord[] {
  const products = readProducts(readStructured(html), html.baseUrl);
  const isPages = ({ url }: Product): boolean =>
    url === null || bare(url) === bare(page.url) || url === meta.canonicalUrl;
  const product = products.find(isPages) ?? (products.length === 1 ? products[0] : undefined);
  if (product === undefined) return [];
  const fields: ProductFields = {
    url: page.url,
    name: product.name,
    description: product.description,
    sku: product.sku,
    gtin: product.gtin,
    brand: product.brand,
    price: product.price,
    price_max: product.priceMax,
    currency: product.currency,
    availability: product.availability,
    image_url: product.imageUrl,
    rating: product.rating,
    review_count: product.reviewCount,
  };
  return [{ id: idOf(page.url, meta.canonicalUrl), sourceUrl: page.url, fields }];
}
