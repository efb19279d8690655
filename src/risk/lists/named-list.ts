import { ENTITY_KIND, TEXT_KIND } from '../../contract/vocabulary.ts';
import {
  isHiddenValue,
  isIdentityKind,
  type ListKind,
  listKindOf,
  type ListTarget,
  readListTarget,
} from './list-kind.ts';

/** Lists with a name, for conditions: `email.domain in list.partners`. Source: contract, 7.6. */

/** The kinds of entries, and texts of any meaning. */
export type NamedListKind = ListKind | typeof TEXT_KIND;

/** A value of a named list, in the one form that all of its spellings have. */
export interface NamedListValue {
  readonly kind: NamedListKind;
  readonly value: string;
}

export type NamedValueRead =
  | { readonly kind: 'value'; readonly value: string }
  /** `message` is a sentence for the caller. */
  | { readonly kind: 'fault'; readonly message: string };

export const NAMED_LIST_NAME = /^[a-z][a-z0-9_]{0,39}$/;
/** Source: contract, 7.6. */
export const NAMED_LISTS_MAX = 100;
/** In all lists of a customer. Source: contract, 7.6. */
export const NAMED_ITEMS_MAX = 1_000_000;
/** Choice: as a text attribute has. */
const TEXT_CHARACTERS_MAX = 256;

/** Returns the kind of a text; null for any other text. */
export function namedListKindOf(text: string): NamedListKind | null {
  return text === TEXT_KIND ? TEXT_KIND : listKindOf(text);
}

/** Returns whether values of the kind name a person. */
export function namesPersons(kind: NamedListKind): boolean {
  return kind !== TEXT_KIND && isIdentityKind(kind);
}

/** Returns whether the value is the hash that answers show of an identity. */
export function isHiddenNamedValue(target: NamedListValue): boolean {
  return target.kind !== TEXT_KIND && isHiddenValue(target as ListTarget);
}

/** Reads a value as a person writes it, or as answers show it. Texts keep upper and lower case. */
export function readNamedValue(kind: NamedListKind, text: string): NamedValueRead {
  if (kind !== TEXT_KIND) {
    const read = readListTarget(kind, text);
    return read.kind === 'fault' ? read : { kind: 'value', value: read.target.value };
  }
  const value = text.trim();
  if (value !== '' && value.length <= TEXT_CHARACTERS_MAX) return { kind: 'value', value };
  return { kind: 'fault', message: `This must have 1 to ${TEXT_CHARACTERS_MAX} characters.` };
}

/** What stands left of `in list.<name>`. */
export interface LeftOfList {
  readonly type: 'text' | 'number';
  /** The name of the fact; null for what is computed. */
  readonly fact: string | null;
}

const HOST_KINDS: readonly NamedListKind[] = ['email_domain', TEXT_KIND];
const TEXTS: readonly NamedListKind[] = [TEXT_KIND];
/** What an attribute is, only the customer knows. */
const ATTRIBUTE_KINDS: readonly NamedListKind[] = [TEXT_KIND, 'ip', 'network', 'country', 'email_domain', 'user_agent'];

const KINDS_OF_FACTS: Readonly<Record<string, readonly NamedListKind[]>> = {
  'ip.address': ['ip', 'network', TEXT_KIND],
  'ip.asn': ['asn'],
  'ip.country': ['country', TEXT_KIND],
  'agent.text': ['user_agent', TEXT_KIND],
  'page.host': HOST_KINDS,
  'referrer.host': HOST_KINDS,
  'email.domain': HOST_KINDS,
  'email.registrable': HOST_KINDS,
  'email.address': ['email'],
  'device.fingerprint': ['fingerprint', TEXT_KIND],
  'browser.hash': ['browser', TEXT_KIND],
};

const ENTITY_VALUE = /^entity\.(?<name>.+)\.value$/s;

/** Returns the kinds of lists that may have the values of a fact; none for numbers that are no `asn`. */
export function namedListKindsFor({ type, fact }: LeftOfList): readonly NamedListKind[] {
  const entity = ENTITY_VALUE.exec(fact ?? '')?.groups?.['name'];
  if (entity !== undefined) return [`${ENTITY_KIND}${entity}`, 'email'];
  const known = KINDS_OF_FACTS[fact ?? ''];
  if (known !== undefined) return known;
  const isAttribute = fact?.startsWith('attributes.') === true;
  if (type === 'number') return isAttribute ? ['asn'] : [];
  return isAttribute ? ATTRIBUTE_KINDS : TEXTS;
}

/** What a membership test needs to know of a list. */
export interface NamedListHead {
  /** Names the list in the keys of its items; unlike a name it is never given twice. */
  readonly number: number;
  readonly kind: NamedListKind;
  /**
   * Which keys can have items, so that no others are looked up, from the most: for networks 256 times the version plus the bits; for user
   * agents the characters of a beginning, 0 for whole texts; for domains their labels. `[0]` for other kinds, empty for an empty list.
   */
  readonly details: readonly number[];
}
