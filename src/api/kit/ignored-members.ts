import type * as z from 'zod';
import { type IgnoredMember, pointerPart } from '../../contract/problem.ts';
import { unreachable } from '../../kernel/brand.ts';
import { closest } from '../../kernel/closest-name.ts';

/**
 * Finds the members of a body that its schema does not name: an endpoint accepts them, for the sake of later versions, and ignores them.
 * A schema is converted once to the names that it reads.
 */

/** Choice: as many as a person reads, like the errors of a body. */
const IGNORED_MEMBERS_MAX = 32;
/** Choice: longer names are no typing errors, and comparing them takes long. */
const NAME_CHARACTERS_MAX = 64;

/** What a schema reads; null if it accepts any members there. */
type Shape = ObjectShape | ListShape | MapShape | ChoiceShape | null;

interface ObjectShape {
  readonly kind: 'object';
  readonly members: ReadonlyMap<string, Shape>;
  /** Members that must be there, with the values that tell this object from the other options of a choice; null for any. */
  readonly required: readonly (readonly [name: string, values: readonly unknown[] | null])[];
}

interface ListShape {
  readonly kind: 'list';
  readonly item: Shape;
}

/** An object with names of the client's choice. */
interface MapShape {
  readonly kind: 'map';
  readonly value: Shape;
}

interface ChoiceShape {
  readonly kind: 'choice';
  readonly options: readonly Shape[];
}

type Members = Readonly<Record<string, unknown>>;

const SHAPES = new WeakMap<z.ZodType, { readonly shape: Shape }>();

/** Returns the members of `body` that `schema` does not name, at any depth, in their order: the first 32. */
export function ignoredMembers(schema: z.ZodType, body: unknown): readonly IgnoredMember[] {
  let known = SHAPES.get(schema);
  if (known === undefined) SHAPES.set(schema, (known = { shape: shapeOf(schema) }));
  const found: IgnoredMember[] = [];
  collect(known.shape, body, '', found);
  return found;
}

function collect(shape: Shape, value: unknown, pointer: string, found: IgnoredMember[]): void {
  if (shape === null) return;
  switch (shape.kind) {
    case 'object':
      if (isObject(value)) collectMembers(shape, value, pointer, found);
      break;
    case 'list':
      if (!Array.isArray(value)) break;
      for (const [at, item] of value.entries()) collect(shape.item, item, `${pointer}/${at}`, found);
      break;
    case 'map':
      if (!isObject(value)) break;
      for (const [name, item] of Object.entries(value))
        collect(shape.value, item, `${pointer}/${pointerPart(name)}`, found);
      break;
    case 'choice':
      collect(shape.options.find((option) => fits(option, value)) ?? null, value, pointer, found);
      break;
    default:
      unreachable(shape);
  }
}

function collectMembers({ members }: ObjectShape, value: Members, pointer: string, found: IgnoredMember[]): void {
  for (const [name, item] of Object.entries(value)) {
    if (found.length >= IGNORED_MEMBERS_MAX) return;
    const known = members.get(name);
    if (known !== undefined) collect(known, item, `${pointer}/${pointerPart(name)}`, found);
    else found.push(ignored(`${pointer}/${pointerPart(name)}`, name, members));
  }
}

function ignored(pointer: string, name: string, members: ReadonlyMap<string, Shape>): IgnoredMember {
  const meant = name.length > NAME_CHARACTERS_MAX ? null : closest(name, [...members.keys()]);
  return { pointer, code: 'unknown_field', ...(meant !== null && { did_you_mean: meant }) };
}

function fits(shape: Shape, value: unknown): boolean {
  if (shape === null) return false;
  if (shape.kind === 'list') return Array.isArray(value);
  if (!isObject(value)) return false;
  if (shape.kind !== 'object') return true;
  return shape.required.every(
    ([name, values]) => Object.hasOwn(value, name) && (values === null || values.includes(value[name])),
  );
}

function shapeOf(schema: z.core.$ZodType): Shape {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'optional' || def.type === 'nullable' || def.type === 'default') return shapeOf(def.innerType);
  // The second schema describes more: `z.array(z.unknown())` only counts what comes next. A transform describes nothing.
  if (def.type === 'pipe') return shapeOf(def.out) ?? shapeOf(def.in);
  if (def.type === 'object') return def.catchall === undefined ? objectOf(def.shape) : null;
  if (def.type === 'array') {
    const item = shapeOf(def.element);
    return item && { kind: 'list', item };
  }
  if (def.type === 'record') {
    const value = shapeOf(def.valueType);
    return value && { kind: 'map', value };
  }
  if (def.type === 'union') {
    const options = def.options.map(shapeOf);
    return options.every((option) => option === null) ? null : { kind: 'choice', options };
  }
  return null;
}

function objectOf(members: Readonly<Record<string, z.core.$ZodType>>): ObjectShape {
  const all = Object.entries(members);
  return {
    kind: 'object',
    members: new Map(all.map(([name, schema]) => [name, shapeOf(schema)])),
    required: all
      .filter(([, schema]) => schema._zod.optin === undefined)
      .map(([name, schema]) => [name, literalsOf(schema)]),
  };
}

function literalsOf(schema: z.core.$ZodType): readonly unknown[] | null {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return def.type === 'literal' ? def.values : null;
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
