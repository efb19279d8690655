import { unreachable } from '../../kernel/brand.ts';
import { TEXT_CHARACTERS_MAX, type JsonObject, type JsonValue } from '../base/connector.ts';
import { isTag, type Element, type ParentNode } from 'domhandler';
import { isoDate } from '../read/dates.ts';
import { linesOf, textOf, type HtmlPage } from '../read/html.ts';
import { markdownOf } from '../read/markdown/markdown.ts';
import { orNull } from '../read/page-text.ts';
import { plainHtmlOf } from '../read/plain-html.ts';
import { absoluteUrl } from '../read/urls.ts';
import type { FieldPlan, SelectPlan } from './field-plan.ts';
import { spendOn } from './selector.ts';
import { writtenMoney, writtenNumber } from './written-numbers.ts';

/** What the customer's fields find on one page. */
export interface SelectedRows {
  readonly rows: readonly SelectedRow[];
  /** Some matches of `each` exceed the maximum and are missing. */
  readonly isCut: boolean;
  /** Absolute URL of the next page; null without one. */
  readonly next: string | null;
}

export interface SelectedRow {
  readonly fields: JsonObject;
  /** A text or a list was longer than a field may be. */
  readonly isTruncated: boolean;
}

/** Choice: maximum number of records of one page, and of items of one list. */
const ROWS_MAX = 10_000;
const ITEMS_MAX = 1_000;
/** Choice: more is no text for a pattern. Measured with the patterns of output schemas. */
const PATTERN_TEXT_CHARACTERS_MAX = 10_000;

/** Reads the fields from a page. Throws `SelectStepsSpent`. */
export function readSelected(plan: SelectPlan, page: HtmlPage): SelectedRows {
  const { budget, each, fields } = plan;
  budget.reset();
  const found: readonly ParentNode[] = each === null ? [page.root] : each.all(page.root);
  const rows = found.slice(0, ROWS_MAX).map((node) => {
    const reader = new RowReader(plan, page);
    return { fields: reader.row(node, fields), isTruncated: reader.isTruncated };
  });
  const link = plan.next?.one(page.root) ?? null;
  return { rows, isCut: found.length > ROWS_MAX, next: absoluteUrl(link?.attribs['href'], page.baseUrl) };
}

/** Returns whether a record has no value at all: nothing of it was on the page. */
export function isEmptyRow(fields: JsonObject): boolean {
  return Object.values(fields).every(
    (value) =>
      value === null || value === false || (Array.isArray(value) && value.length === 0) || isEmptyObject(value),
  );
}

function isEmptyObject(value: JsonValue): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && isEmptyRow(value as JsonObject);
}

/** Reads one record. Its methods throw `SelectStepsSpent`. */
class RowReader {
  isTruncated = false;
  readonly #plan: SelectPlan;
  readonly #page: HtmlPage;

  constructor(plan: SelectPlan, page: HtmlPage) {
    this.#plan = plan;
    this.#page = page;
  }

  row(node: ParentNode, fields: readonly FieldPlan[]): JsonObject {
    return Object.fromEntries(fields.map((field) => [field.name, this.#field(node, field)]));
  }

  #field(node: ParentNode, field: FieldPlan): JsonValue {
    const { selector, fields, isList, type, attr } = field;
    if (isList) return this.#list(selector?.all(node) ?? [], field);
    const found = selector === null ? node : selector.one(node);
    if (type === 'exists' && fields === null)
      return found !== null && (attr === null || attributeOf(found, attr) !== null);
    if (found === null) return field.byDefault;
    return fields === null ? (this.#value(found, field) ?? field.byDefault) : this.row(found, fields);
  }

  #list(found: readonly Element[], field: FieldPlan): JsonValue {
    if (found.length > ITEMS_MAX) this.isTruncated = true;
    const { fields } = field;
    return found.slice(0, ITEMS_MAX).flatMap((element) => {
      if (fields !== null) return [this.row(element, fields)];
      if (field.type === 'exists') return [true];
      const value = this.#value(element, field);
      return value === null ? [] : [value];
    });
  }

  #value(node: ParentNode, field: FieldPlan): JsonValue {
    if (field.type === 'html') return this.#marked(node, plainHtmlOf);
    if (field.type === 'markdown') return this.#marked(node, markdownOf);
    const text = this.#text(node, field);
    const own = text === null ? null : matched(text, field.pattern, (steps) => this.#plan.budget.spend(steps));
    return own === null ? null : this.#converted(own, field);
  }

  #marked(node: ParentNode, write: typeof markdownOf): string | null {
    // Writing markup takes several times as long as reading text.
    spendOn(node, this.#plan.budget, 2);
    const { text, isCut } = write(node, this.#page, () => false, TEXT_CHARACTERS_MAX);
    if (isCut) this.isTruncated = true;
    return orNull(text);
  }

  #text(node: ParentNode, { type, attr }: FieldPlan): string | null {
    const name = attr ?? (type === 'url' ? linkAttributeOf(node) : null);
    if (name !== null) return attributeOf(node, name);
    // Links are attributes; a date may be one.
    if (type === 'url') return null;
    const stated = type === 'date' ? (attributeOf(node, 'datetime') ?? attributeOf(node, 'content')) : null;
    if (stated !== null) return stated;
    spendOn(node, this.#plan.budget, 1);
    const text = type === 'lines' ? linesOf(node) : textOf(node);
    if (text.length > TEXT_CHARACTERS_MAX) this.isTruncated = true;
    return orNull(text);
  }

  #converted(text: string, { type }: FieldPlan): JsonValue {
    switch (type) {
      case 'url':
        return absoluteUrl(text, this.#page.baseUrl);
      case 'number':
        return writtenNumber(text);
      case 'integer':
        return wholeNumber(writtenNumber(text));
      case 'money': {
        const money = writtenMoney(text);
        return money === null ? null : { ...money };
      }
      case 'date':
        return isoDate(text);
      case 'boolean':
        return booleanOf(text);
      case 'text':
      case 'lines':
      case 'attr':
      case 'markdown':
      case 'html':
      case 'exists':
        return orNull(text);
      default:
        return unreachable(type);
    }
  }
}

function attributeOf(node: ParentNode, name: string): string | null {
  return isTag(node) ? (node.attribs[name]?.slice(0, TEXT_CHARACTERS_MAX) ?? null) : null;
}

/** Returns the attribute in which an element names an address. */
function linkAttributeOf(node: ParentNode): string {
  if (!isTag(node)) return 'href';
  return node.attribs['href'] === undefined && node.attribs['src'] !== undefined ? 'src' : 'href';
}

/** Returns the first group of the pattern, or the whole match if it has none; null if nothing matches. */
function matched(text: string, pattern: FieldPlan['pattern'], spend: (steps: number) => void): string | null {
  if (pattern === null) return text;
  const cut = text.slice(0, PATTERN_TEXT_CHARACTERS_MAX);
  spend(cut.length * pattern.programSize);
  return pattern.find(cut);
}

function wholeNumber(number: number | null): number | null {
  const whole = number === null ? Number.NaN : Math.trunc(number);
  // Truncating a negative fraction yields -0, which JSON cannot represent.
  return Number.isSafeInteger(whole) ? whole + 0 : null;
}

const YES = /^(?:true|yes|y|1|on|in ?stock|available|checked|selected)$/i;
const NO = /^(?:false|no|n|0|off|out ?of ?stock|sold ?out|unavailable)$/i;

function booleanOf(text: string): boolean | null {
  const word = text.trim();
  return YES.test(word) ? true : NO.test(word) ? false : null;
}
