import { unreachable } from '../../kernel/brand.ts';
import { childPointer } from '../../kernel/json-pointer.ts';
import type { JsonObject, JsonValue } from '../base/connector.ts';
import { isoDate } from '../read/dates.ts';
import { compilePattern, type SafePattern } from '../shape/patterns.ts';
import { SelectBudget } from './select-budget.ts';
import { compileSelector, type PageSelector } from './selector.ts';

/** Forms of a field's value. How each is read: docs/connectors.md. */
export const FIELD_TYPES = [
  'text',
  'lines',
  'markdown',
  'html',
  'attr',
  'url',
  'number',
  'integer',
  'money',
  'date',
  'exists',
  'boolean',
] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

/** One field of the customer's own, ready to be read. */
export interface FieldPlan {
  readonly name: string;
  /** Null: the element itself. */
  readonly selector: PageSelector | null;
  readonly type: FieldType;
  /** The attribute that is read instead of the text. */
  readonly attr: string | null;
  readonly pattern: SafePattern | null;
  readonly byDefault: string | number | boolean | null;
  /** Whether the value is a list of all matches instead of the first one. */
  readonly isList: boolean;
  /** Fields of each match; null if its value is no object. */
  readonly fields: readonly FieldPlan[] | null;
}

/** The fields of an input, and where they are read. */
export interface SelectPlan {
  /** The steps of the page that is read. The selectors spend them. */
  readonly budget: SelectBudget;
  /** Each match is a record; null: the page is one record. */
  readonly each: PageSelector | null;
  readonly fields: readonly FieldPlan[];
  /** The link to the next page. */
  readonly next: PageSelector | null;
}

export type ReadSelectPlan =
  | { readonly kind: 'ok'; readonly plan: SelectPlan }
  /** `pointer` into the input. */
  | { readonly kind: 'fault'; readonly pointer: string; readonly message: string };

/** Choice: fields of one input, those within fields included. */
export const FIELDS_MAX = 60;
/** Choice: fields, fields within them, and fields within those. */
const LEVELS_MAX = 3;
const DEFAULT_CHARACTERS_MAX = 1_000;
/** Dots are separators of paths in the output options. */
const FIELD_NAME = /^(?!_meta$|__proto__$)[\p{L}_][\p{L}\p{N}_-]{0,63}$/u;
const ATTRIBUTE_NAME = /^[A-Za-z_:@][\w:.@-]{0,99}$/;
const MEMBERS = new Set(['select', 'type', 'attr', 'pattern', 'default', 'list', 'each', 'fields']);

/** Reads `each`, `fields` and `next` of an input, which matches its schema. Compiles its selectors and patterns, which fetches nothing. */
export function readSelectPlan(input: JsonObject): ReadSelectPlan {
  const budget = new SelectBudget();
  const reader = new PlanReader(budget);
  try {
    const each = reader.selector(input['each'], '/each', false);
    const fields = reader.fields(input['fields'], '/fields', 1, each !== null);
    return { kind: 'ok', plan: { budget, each, fields, next: reader.selector(input['next'], '/next', false) } };
  } catch (error) {
    if (error instanceof PlanFault) return { kind: 'fault', pointer: error.pointer, message: error.message };
    throw error;
  }
}

class PlanFault extends Error {
  readonly pointer: string;

  constructor(pointer: string, message: string) {
    super(message);
    this.pointer = pointer;
  }
}

/** Reads one input. Its methods throw `PlanFault`. */
class PlanReader {
  readonly #budget: SelectBudget;
  #fields = 0;

  constructor(budget: SelectBudget) {
    this.#budget = budget;
  }

  selector(css: JsonValue | undefined, pointer: string, isRelative: boolean): PageSelector | null {
    if (css === undefined) return null;
    if (typeof css !== 'string') throw new PlanFault(pointer, 'This must be a CSS selector.');
    const compiled = compileSelector(css, this.#budget, isRelative);
    if (compiled.kind === 'fault') throw new PlanFault(pointer, compiled.message);
    return compiled.selector;
  }

  fields(given: JsonValue | undefined, pointer: string, level: number, isRelative: boolean): readonly FieldPlan[] {
    if (!isObject(given) || Object.keys(given).length === 0)
      throw new PlanFault(pointer, 'This must be an object with at least one field.');
    if (level > LEVELS_MAX) throw new PlanFault(pointer, `Fields must be nested at most ${LEVELS_MAX} levels deep.`);
    return Object.entries(given).map(([name, field]) => {
      const own = childPointer(pointer, name);
      this.#fields++;
      if (this.#fields > FIELDS_MAX) throw new PlanFault(pointer, `There must be at most ${FIELDS_MAX} fields.`);
      if (!FIELD_NAME.test(name))
        throw new PlanFault(own, 'A name must have 1 to 64 letters, digits, _ and -, and not begin with a digit.');
      return this.#field(name, typeof field === 'string' ? { select: field } : field, own, level, isRelative);
    });
  }

  #field(name: string, given: JsonValue, pointer: string, level: number, isRelative: boolean): FieldPlan {
    if (!isObject(given)) throw new PlanFault(pointer, 'This must be a CSS selector or an object.');
    const strange = Object.keys(given).find((member) => !MEMBERS.has(member));
    if (strange !== undefined) throw new PlanFault(childPointer(pointer, strange), 'A field has no such member.');
    const { select, each, list, fields } = given;
    if (select !== undefined && each !== undefined)
      throw new PlanFault(`${pointer}/each`, 'A field must not have both select and each.');
    if (each !== undefined && fields === undefined)
      throw new PlanFault(`${pointer}/each`, 'A field with each must have fields.');
    if (list !== undefined && typeof list !== 'boolean')
      throw new PlanFault(`${pointer}/list`, 'This must be true or false.');
    const isSelf = select === ':scope';
    const selector =
      each === undefined
        ? this.selector(isSelf ? undefined : select, `${pointer}/select`, isRelative)
        : this.selector(each, `${pointer}/each`, isRelative);
    const shared = { name, selector, isList: list === true || each !== undefined };
    if (fields !== undefined) {
      const foreign = ['type', 'attr', 'pattern', 'default'].find((member) => given[member] !== undefined);
      if (foreign !== undefined)
        throw new PlanFault(childPointer(pointer, foreign), 'A field with fields must not have this.');
      const inner = this.fields(fields, `${pointer}/fields`, level + 1, isRelative || selector !== null);
      return { ...shared, type: 'text', attr: null, pattern: null, byDefault: null, fields: inner };
    }
    const value = valueOf(given, pointer);
    if (selector === null && shared.isList) throw new PlanFault(`${pointer}/list`, 'A list must have a selector.');
    return { ...shared, ...value, fields: null };
  }
}

function valueOf(given: JsonObject, pointer: string): Pick<FieldPlan, 'type' | 'attr' | 'pattern' | 'byDefault'> {
  const attr = attrOf(given, pointer);
  const type = typeOf(given['type'] ?? (attr === null ? 'text' : 'attr'), `${pointer}/type`);
  if (type === 'attr' && attr === null) throw new PlanFault(`${pointer}/attr`, 'A field of type attr must have attr.');
  if (attr !== null && (type === 'html' || type === 'markdown' || type === 'lines'))
    throw new PlanFault(`${pointer}/attr`, `A field of type ${type} must not have attr.`);
  const pattern = patternOf(given['pattern'], `${pointer}/pattern`);
  if (pattern !== null && (type === 'exists' || type === 'html' || type === 'markdown'))
    throw new PlanFault(`${pointer}/pattern`, `A field of type ${type} must not have a pattern.`);
  const byDefault = defaultOf(given, type, `${pointer}/default`);
  return { type, attr, pattern, byDefault };
}

function attrOf({ attr }: JsonObject, pointer: string): string | null {
  if (attr === undefined) return null;
  if (typeof attr === 'string' && ATTRIBUTE_NAME.test(attr)) return attr.toLowerCase();
  throw new PlanFault(`${pointer}/attr`, 'This must be the name of an attribute.');
}

function typeOf(given: JsonValue, pointer: string): FieldType {
  const type = FIELD_TYPES.find((known) => known === given);
  if (type !== undefined) return type;
  throw new PlanFault(pointer, `This must be one of ${FIELD_TYPES.join(', ')}.`);
}

function patternOf(given: JsonValue | undefined, pointer: string): SafePattern | null {
  if (given === undefined) return null;
  if (typeof given !== 'string') throw new PlanFault(pointer, 'This must be a regular expression.');
  const compiled = compilePattern(given);
  if (compiled.kind === 'fault') throw new PlanFault(pointer, compiled.message);
  return compiled.pattern;
}

function defaultOf(given: JsonObject, type: FieldType, pointer: string): FieldPlan['byDefault'] {
  const value = given['default'];
  if (value === undefined || value === null) return null;
  if (given['list'] === true) throw new PlanFault(pointer, 'A list has no default: it is empty where nothing fits.');
  if (isOfType(value, type) && String(value).length <= DEFAULT_CHARACTERS_MAX) return value;
  throw new PlanFault(pointer, `This is not a value of a field of type ${type}.`);
}

function isOfType(value: JsonValue, type: FieldType): value is string | number | boolean {
  switch (type) {
    case 'number':
      return typeof value === 'number';
    case 'integer':
      return Number.isSafeInteger(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'date':
      return typeof value === 'string' && isoDate(value) === value;
    // `exists` is never null, and the default of money would need a currency.
    case 'exists':
    case 'money':
      return false;
    case 'text':
    case 'lines':
    case 'markdown':
    case 'html':
    case 'attr':
    case 'url':
      return typeof value === 'string';
    default:
      return unreachable(type);
  }
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
