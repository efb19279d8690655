import { pointerPart, type FieldError } from '../../contract/problem.ts';
import { DESCENDING, draftOf, FORMATS, KEYWORDS, TYPES, type Draft, type KeywordForm } from './schema-keywords.ts';
import { isList, isNames, isObject, namesOf, targetOf } from './json-forms.ts';
import { compilePattern, isPlainNamePattern, type SafePattern } from './patterns.ts';

/** Choice: counted after expanding references. Hand-written schemas have about a hundred. */
const SCHEMAS_MAX = 2_000;
/** Choice: more patterns than a record has members. */
export const PATTERNS_MAX = 100;
/** Measured: a required name of 4 characters takes 41 ns, so this many characters take about as long as a plain subschema. */
const CHARACTERS_PER_WEIGHT = 200;
/** Forms of the keywords whose lists the library searches for each value. */
const SEARCHED: ReadonlySet<KeywordForm> = new Set(['any', 'list', 'names', 'names_map', 'schema_or_names_map']);
const ERRORS_MAX = 32;

/** Returns the format name under which the compiled schema requests the pattern with this number. */
export function patternFormat(index: number): string {
  return `gatehouse-pattern-${index}`;
}

export interface CompiledSchema {
  readonly draft: Draft;
  /** Plain: no references, no `pattern`, only known keywords. */
  readonly schema: boolean | Readonly<Record<string, unknown>>;
  readonly patterns: readonly SafePattern[];
  /**
   * Weight of the subschemas that apply at each depth of a record; index 0 is the record itself. A subschema weighs 1, plus 1 for each
   * `CHARACTERS_PER_WEIGHT` characters of its lists of names and values, which the library searches from the beginning.
   */
  readonly weightAtDepth: readonly number[];
  readonly hasUniqueItems: boolean;
  /** The schema names a member that every object inherits, for example `constructor`. */
  readonly hasInheritedNames: boolean;
}

export type SchemaResult =
  | { readonly kind: 'ok'; readonly compiled: CompiledSchema }
  | { readonly kind: 'faults'; readonly errors: readonly FieldError[] };

interface Context {
  readonly root: unknown;
  readonly draft: Draft;
  readonly errors: FieldError[];
  readonly patterns: SafePattern[];
  schemas: number;
  /** Depth in the record at which the present subschema applies. */
  depth: number;
  readonly weightAtDepth: number[];
  hasUniqueItems: boolean;
  hasInheritedNames: boolean;
  /** The first unsupported pattern ends the check, because each further one would take as long. */
  hasBadPattern: boolean;
}

/**
 * Validates a customer's schema and copies it into one that is safe to run. References are expanded, so that nothing is fetched and there
 * are no cycles. Patterns run in an engine that cannot hang. The number of subschemas is limited, because references to references could
 * double it with each line. Pointers begin with `pointer`.
 */
export function compileSchema(schema: unknown, pointer: string): SchemaResult {
  const draft = draftOf(isObject(schema) ? schema['$schema'] : undefined);
  if (draft === null) {
    const message = 'The drafts 2020-12, 2019-09, 7 and 4 are supported.';
    return { kind: 'faults', errors: [{ pointer: `${pointer}/$schema`, code: 'unsupported_schema', message }] };
  }
  const context: Context = {
    root: schema,
    draft,
    errors: [],
    patterns: [],
    schemas: 0,
    depth: 0,
    weightAtDepth: [],
    hasUniqueItems: false,
    hasInheritedNames: false,
    hasBadPattern: false,
  };
  const compiled = compileNode(context, schema, pointer, ['']);
  if (context.errors.length > 0) return { kind: 'faults', errors: context.errors };
  const { patterns, weightAtDepth, hasUniqueItems, hasInheritedNames } = context;
  return {
    kind: 'ok',
    compiled: { draft, schema: compiled, patterns, weightAtDepth, hasUniqueItems, hasInheritedNames },
  };
}

type Node = boolean | Readonly<Record<string, unknown>>;

/** `trail` contains the references being expanded, to detect one that leads back to itself. */
function compileNode(context: Context, schema: unknown, pointer: string, trail: readonly string[]): Node {
  addWeight(context, 1);
  if (typeof schema === 'boolean') return schema;
  if (context.hasBadPattern) return true;
  context.schemas++;
  if (context.schemas > SCHEMAS_MAX) {
    if (context.schemas === SCHEMAS_MAX + 1)
      fault(
        context,
        pointer,
        'unsupported_schema',
        `A schema has at most ${SCHEMAS_MAX} parts, including expanded references.`,
      );
    return true;
  }
  if (!isObject(schema)) {
    fault(context, pointer, 'invalid_schema', 'A schema must be an object, true or false.');
    return true;
  }
  return compileKeywords(context, schema, pointer, trail);
}

function compileKeywords(
  context: Context,
  schema: Readonly<Record<string, unknown>>,
  pointer: string,
  trail: readonly string[],
): Node {
  const copy = new Map<string, unknown>();
  const added: Node[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    const form = KEYWORDS.get(keyword);
    if (form === undefined) continue;
    const at = `${pointer}/${pointerPart(keyword)}`;
    if (form === 'ref') {
      const referred = compileRef(context, value, at, trail);
      // These drafts ignore keywords next to a reference.
      if (context.draft === '4' || context.draft === '7') return referred;
      added.push(referred);
    } else if (form === 'pattern') added.push({ format: addPattern(context, value, at) });
    else if (form === 'format') {
      if (typeof value !== 'string') fault(context, at, 'invalid_schema', 'A format must be a string.');
      else if (FORMATS.has(value)) copy.set(keyword, value);
    } else if (form === 'refused') fault(context, at, 'unsupported_schema', `${keyword} is not supported.`);
    else {
      const deeper = DESCENDING.has(keyword) ? 1 : 0;
      context.depth += deeper;
      copy.set(keyword, compileValue(context, form, value, at, trail));
      context.depth -= deeper;
      if (SEARCHED.has(form)) addWeight(context, Math.floor(JSON.stringify(value).length / CHARACTERS_PER_WEIGHT));
      if (keyword === 'uniqueItems' && value === true) context.hasUniqueItems = true;
      if (namesOf(value).some((name) => name in Object.prototype)) context.hasInheritedNames = true;
    }
  }
  if (added.length > 0) copy.set('allOf', [...((copy.get('allOf') as Node[] | undefined) ?? []), ...added]);
  return Object.fromEntries(copy);
}

function addWeight({ weightAtDepth, depth }: Context, weight: number): void {
  weightAtDepth[depth] = (weightAtDepth[depth] ?? 0) + weight;
}

type ValueForm = Exclude<KeywordForm, 'ref' | 'pattern' | 'format' | 'refused'>;

function compileValue(
  context: Context,
  form: ValueForm,
  value: unknown,
  pointer: string,
  trail: readonly string[],
): unknown {
  const inner = (item: unknown, at: string): unknown => compileNode(context, item, at, trail);
  const list = (): unknown =>
    isList(value) ? value.map((item, index) => inner(item, `${pointer}/${index}`)) : wrong('a list of schemas');
  const map = (each: (item: unknown, at: string, name: string) => unknown): unknown =>
    isObject(value)
      ? Object.fromEntries(
          Object.entries(value).map(([name, item]) => [name, each(item, `${pointer}/${pointerPart(name)}`, name)]),
        )
      : wrong('an object');
  const held = (isHeld: boolean, expected: string): unknown => (isHeld ? value : wrong(expected));
  const wrong = (expected: string): unknown => {
    fault(context, pointer, 'invalid_schema', `This must be ${expected}.`);
    return true;
  };

  switch (form) {
    case 'schema':
      return inner(value, pointer);
    case 'schemas':
      return list();
    case 'schema_or_schemas':
      return isList(value) ? list() : inner(value, pointer);
    case 'schema_map':
      return map(inner);
    case 'pattern_map':
      return map((item, at, name) => {
        if (!isPlainNamePattern(name)) fault(context, at, 'unsupported_pattern', NAME_PATTERN);
        return inner(item, at);
      });
    case 'schema_or_names_map':
      return map((item, at) => (isNames(item) ? item : inner(item, at)));
    case 'names_map':
      return map((item) => (isNames(item) ? item : wrong('an object of lists of names')));
    case 'names':
      return held(isNames(value), 'a list of names');
    case 'types':
      return held(
        (isList(value) ? value : [value]).every((type) => TYPES.has(type)),
        'a type or a list of types',
      );
    case 'count':
      return held(Number.isSafeInteger(value) && Number(value) >= 0, 'a whole number, 0 or more');
    case 'number':
      return held(typeof value === 'number', 'a number');
    case 'number_or_boolean':
      return held(typeof value === (context.draft === '4' ? 'boolean' : 'number'), 'a number');
    case 'boolean':
      return held(typeof value === 'boolean', 'true or false');
    case 'list':
      return held(isList(value), 'a list');
    case 'any':
      return value;
  }
}

const NAME_PATTERN =
  'A pattern for names may have no groups, no alternatives and at most one repeat, which requires ^ at the start.';

function compileRef(context: Context, ref: unknown, pointer: string, trail: readonly string[]): Node {
  if (typeof ref !== 'string' || !/^#(?:\/|$)/.test(ref)) {
    fault(context, pointer, 'unsupported_schema', 'A reference must be a pointer into this schema, #/….');
    return true;
  }
  if (trail.includes(ref.slice(1))) {
    fault(context, pointer, 'unsupported_schema', 'A schema that refers to itself is not supported.');
    return true;
  }
  const target = targetOf(context.root, ref.slice(1));
  if (target === undefined) {
    fault(context, pointer, 'invalid_schema', 'This reference points to nothing in the schema.');
    return true;
  }
  return compileNode(context, target, pointer, [...trail, ref.slice(1)]);
}

function addPattern(context: Context, source: unknown, pointer: string): string {
  if (context.hasBadPattern) return patternFormat(0);
  const compiled =
    typeof source === 'string'
      ? compilePattern(source)
      : ({ kind: 'fault', message: 'A pattern must be a string.' } as const);
  if (compiled.kind === 'fault') {
    fault(context, pointer, 'unsupported_pattern', compiled.message);
    context.hasBadPattern = true;
  } else if (context.patterns.length === PATTERNS_MAX)
    fault(
      context,
      pointer,
      'unsupported_pattern',
      `A schema has at most ${PATTERNS_MAX} patterns, including expanded references.`,
    );
  else context.patterns.push(compiled.pattern);
  return patternFormat(context.patterns.length - 1);
}

function fault(context: Context, pointer: string, code: string, message: string): void {
  if (context.errors.length < ERRORS_MAX) context.errors.push({ pointer, code, message });
}
