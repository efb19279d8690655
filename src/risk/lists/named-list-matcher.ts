import { domainToASCII } from 'node:url';
import { TEXT_KIND } from '../../contract/vocabulary.ts';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { parseV4, parseV6 } from '../../kernel/ip-text.ts';
import { normalIdentity } from '../decision-links.ts';
import { entityText, type ListKeys } from './list-key.ts';
import { DOMAIN_LABELS_MAX, ENTITY_KIND } from './list-kind.ts';
import type { NamedListHead, NamedListKind } from './named-list.ts';

/** The customers' named lists, as a worker reads them. */
export interface NamedListSource {
  /** Null if there is no such list, undefined if it cannot be read. */
  findNamedList(customer: CustomerNumber, name: string): NamedListHead | null | undefined;
  /** `list`: its number. Undefined if it cannot be read. */
  hasNamedItem(customer: CustomerNumber, list: number, key: Uint8Array, nowSeconds: number): boolean | undefined;
}

/** Whose list is asked, and when. */
export interface NamedListAsked {
  readonly customer: CustomerNumber;
  readonly nowSeconds: number;
  readonly name: string;
  /** Kinds of lists that may have the value (`namedListKindsFor`). */
  readonly kinds: readonly NamedListKind[];
}

const ASCII_LOWER = /^[!-@[-~]*$/;

/** Tests values of conditions for membership in named lists. One for each worker. */
export class NamedListMatcher {
  readonly #source: NamedListSource;
  readonly #keys: ListKeys;

  constructor(source: NamedListSource, keys: ListKeys) {
    this.#source = source;
    this.#keys = keys;
  }

  /**
   * Returns whether the list names the value, as an entry of its kind would; undefined if there is no such list, if it is of another kind,
   * and if it cannot be read. Cost: a look-up for the list, and one for each of its `details` that the value can have.
   */
  has(asked: NamedListAsked, value: string): boolean | undefined {
    const { customer, name, kinds } = asked;
    const list = this.#source.findNamedList(customer, name);
    if (list === null || list === undefined || !kinds.includes(list.kind)) return undefined;
    for (const detail of list.details) {
      const key = this.#keyOf(customer, list.kind, value, detail);
      const found = key !== null && this.#source.hasNamedItem(customer, list.number, key, asked.nowSeconds);
      if (found !== false) return found;
    }
    return false;
  }

  /** Null if the value can have no item with this detail. */
  #keyOf(customer: CustomerNumber, kind: NamedListKind, value: string, detail: number): Uint8Array | null {
    const keys = this.#keys;
    switch (kind) {
      case TEXT_KIND:
        return keys.ofText(customer, TEXT_KIND, value.trim());
      case 'ip':
        return parseV4(value) < 0 && parseV6(value) === null ? null : keys.ofAddress(value);
      case 'network':
        return this.#networkKey(value, detail >> 8, detail & 255);
      case 'asn':
        return keys.ofAsn(Number(value));
      case 'country':
        return value.length === 2 ? keys.ofCountry(value.toUpperCase()) : null;
      case 'email':
        return keys.ofText(customer, kind, normalIdentity(value));
      case 'email_domain': {
        const name = lastLabels(value, detail);
        return name === null ? null : keys.ofText(customer, kind, name);
      }
      case 'user_agent':
        if (value.length < detail) return null;
        return keys.ofText(customer, kind, detail === 0 ? value : value.slice(0, detail), detail);
      case 'fingerprint':
      case 'browser':
        return Buffer.from(value, 'hex');
      default:
        return keys.ofText(customer, 'entity', entityText(kind.slice(ENTITY_KIND.length), normalIdentity(value)));
    }
  }

  #networkKey(address: string, version: number, bits: number): Uint8Array | null {
    const v4 = parseV4(address);
    if (v4 >= 0) return version === 4 ? this.#keys.ofNetwork4(v4, bits) : null;
    const groups = version === 6 ? parseV6(address) : null;
    return groups === null ? null : this.#keys.ofNetwork6(groups, bits);
  }
}

/** Returns the last labels of a domain; null if it has fewer. */
function lastLabels(text: string, labels: number): string | null {
  const domain = ASCII_LOWER.test(text) ? text : domainToASCII(text.toLowerCase());
  const parts = domain.split('.').slice(-DOMAIN_LABELS_MAX);
  return parts.length < labels || labels > DOMAIN_LABELS_MAX ? null : parts.slice(-labels).join('.');
}
