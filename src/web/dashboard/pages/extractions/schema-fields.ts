import { visibleText } from '../../visible-text.ts';

/** Fields of a form that is made from a JSON Schema, and what is typed into them. */

/** The part of JSON Schema that the catalogue uses; anything else gets a field for JSON. */
export interface Property {
  readonly type?: unknown;
  readonly enum?: unknown;
  readonly items?: { readonly type?: unknown };
  readonly description?: unknown;
  readonly default?: unknown;
  readonly minimum?: unknown;
  readonly maximum?: unknown;
  readonly maxLength?: unknown;
  readonly writeOnly?: unknown;
}

export interface FormField {
  readonly name: string;
  readonly kind: 'text' | 'choice' | 'whole' | 'flag' | 'lines' | 'json';
  readonly isRequired: boolean;
  /** No call returns it, so it is masked. */
  readonly isSecret: boolean;
  readonly hint: string;
  readonly choices: readonly string[];
  readonly property: Property;
}

/** The form's values: texts of all fields, `true` for a flag. */
export type Typed = Readonly<Record<string, string>>;

export function fieldsOf(schema: Readonly<Record<string, unknown>>): readonly FormField[] {
  const properties = schema['properties'];
  if (typeof properties !== 'object' || properties === null) return [];
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  return Object.entries(properties as Readonly<Record<string, Property>>).map(([name, property]) => {
    const choices = Array.isArray(property.enum) ? property.enum.filter((value) => typeof value === 'string') : [];
    return {
      name,
      kind: kindOf(property, choices),
      isRequired: required.includes(name),
      isSecret: property.writeOnly === true,
      hint: typeof property.description === 'string' ? visibleText(property.description) : '',
      choices,
      property,
    };
  });
}

function kindOf({ type, items }: Property, choices: readonly string[]): FormField['kind'] {
  const types = (Array.isArray(type) ? type : [type]).filter((name) => name !== 'null');
  const [only] = types;
  if (types.length !== 1) return 'json';
  if (only === 'string') return choices.length > 0 ? 'choice' : 'text';
  if (only === 'integer') return 'whole';
  if (only === 'boolean') return 'flag';
  return only === 'array' && items?.type === 'string' ? 'lines' : 'json';
}

/** Returns the values of an example as texts. */
export function typedOf(input: Readonly<Record<string, unknown>>): Typed {
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [
      name,
      typeof value === 'string'
        ? value
        : Array.isArray(value) && value.every((item) => typeof item === 'string')
          ? value.join('\n')
          : JSON.stringify(value),
    ]),
  );
}

export type Input =
  | { readonly kind: 'input'; readonly input: Readonly<Record<string, unknown>> }
  | { readonly kind: 'fault'; readonly name: string; readonly message: string };

/** Returns the input as the API wants it. Empty fields are left out; the server checks everything else. */
export function toInput(fields: readonly FormField[], typed: Typed): Input {
  const input: Record<string, unknown> = {};
  for (const { name, kind } of fields) {
    const text = typed[name] ?? '';
    if (text.trim() === '') continue;
    if (kind === 'flag') input[name] = text === 'true';
    else if (kind === 'whole') {
      const number = Number(text);
      if (!Number.isSafeInteger(number)) return { kind: 'fault', name, message: 'This must be a whole number.' };
      input[name] = number;
    } else if (kind === 'lines')
      input[name] = text
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean);
    else if (kind === 'json') {
      try {
        input[name] = JSON.parse(text);
      } catch {
        return { kind: 'fault', name, message: 'This must be JSON.' };
      }
    } else input[name] = text;
  }
  return { kind: 'input', input };
}
