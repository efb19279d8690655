import type { ConditionType } from '../conditions/condition.ts';
import type { AttributeValue } from '../facts.ts';

/** What customers send besides, and which of it counts. Source: contract, 4.7. */

export const ATTRIBUTE_NAME = /^[a-z][a-z0-9_]{0,31}$/;
/** Source: contract, 4.7: names of a customer that nothing reads, and names in the metric of mismatches. */
export const ATTRIBUTE_NAMES_NOTED_MAX = 64;
export const ATTRIBUTE_TYPES = ['number', 'text', 'boolean', 'list'] as const;
export type AttributeType = (typeof ATTRIBUTE_TYPES)[number];

export interface AttributeDeclaration {
  readonly type: AttributeType;
  /** Whether an attribute counts in a request that was signed with a public key, which any visitor can sign. */
  readonly isPublic: boolean;
}

export type AttributeDeclarations = Readonly<Record<string, AttributeDeclaration>>;

const declared = (type: AttributeType): AttributeDeclaration => ({ type, isPublic: false });

/** Source: contract, 4.7. */
export const DEFAULT_ATTRIBUTES: AttributeDeclarations = {
  amount: declared('number'),
  currency: declared('text'),
  account_created_at: declared('number'),
  card_country: declared('text'),
  card_bin: declared('text'),
  billing_country: declared('text'),
  shipping_country: declared('text'),
  email_verified: declared('boolean'),
  phone_country: declared('text'),
  item_count: declared('number'),
  first_order: declared('boolean'),
  plan: declared('text'),
};

export function typesOf(declarations: AttributeDeclarations): ReadonlyMap<string, ConditionType> {
  return new Map(Object.entries(declarations).map(([name, { type }]) => [name, type]));
}

const NO_ATTRIBUTES: ReadonlyMap<string, AttributeValue> = new Map();

/** Returns the attributes that count: declared, of their declared type, and in a public request declared as public. */
export function countedAttributes(
  sent: ReadonlyMap<string, AttributeValue>,
  declarations: AttributeDeclarations,
  publicKey: boolean,
): ReadonlyMap<string, AttributeValue> {
  if (sent.size === 0) return NO_ATTRIBUTES;
  const counted = new Map<string, AttributeValue>();
  for (const [name, value] of sent) {
    const declaration = Object.hasOwn(declarations, name) ? declarations[name] : undefined;
    if (declaration === undefined || (publicKey && !declaration.isPublic)) continue;
    if (declaration.type === typeOf(value)) counted.set(name, value);
  }
  return counted;
}

export function typeOf(value: AttributeValue): AttributeType {
  if (typeof value === 'number') return 'number';
  if (typeof value === 'string') return 'text';
  return typeof value === 'boolean' ? 'boolean' : 'list';
}
