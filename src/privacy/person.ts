import { ENTITY_PREFIX, LINK_HASH_BYTES, LinkHasher, normalAddress, normalIdentity } from '../risk/decision-links.ts';
import { CustomerHash } from '../kernel/customer-hash.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import { ListKeys } from '../risk/lists/list-key.ts';
import { listKindOf, readListTarget } from '../risk/lists/list-kind.ts';
import { hashBrowser } from '../risk/signals/collector-token.ts';

/** A person as a customer knows one: by one value of one kind, in the form that all its spellings have. */
export interface Person {
  /** `entity.<name>`, `ip` or `browser`. */
  readonly subject: string;
  /** A mailbox or another identity, an address, or the hash of a browser's id. */
  readonly value: string;
}

const HASH = /^[0-9a-f]{64}$/i;

/** Reads a value as a caller writes it; null if it is none of that kind. A browser is named by its id or by the hash of that. */
export function readPerson(subject: string, text: string): Person | null {
  if (subject === 'ip') {
    const value = normalAddress(text);
    return value === null ? null : { subject, value };
  }
  if (subject === 'browser') return { subject, value: HASH.test(text) ? text.toLowerCase() : hashBrowser(text) };
  const value = normalIdentity(text);
  return value === '' ? null : { subject, value };
}

/** Where a hash that stands for a person comes from; part of its mark. */
export type MarkForm = 'link' | 'list' | 'browser';
const FORMS: readonly MarkForm[] = ['link', 'list', 'browser'];

export const ERASURES_PURPOSE = 'erasures';

/** The keys with which tables hash people. */
export interface PersonKeys {
  readonly links: Uint8Array;
  readonly lists: Uint8Array;
  /** Of `ERASURES_PURPOSE`: no table hashes with it. */
  readonly marks: Uint8Array;
}

/**
 * Recognises a person in tables. A mark is a keyed hash, 64 bits, of the hash under which a kind of table holds the person. The marks and
 * the key tell whether a row is about the person, and give neither the value nor the hashes of the tables: so marks may be kept when
 * everything else is gone, and find the person again in a restored backup.
 */
export class PersonMarker {
  readonly #marks: CustomerHash;
  readonly #links: LinkHasher;
  readonly #lists: ListKeys;
  readonly #link = Buffer.alloc(LINK_HASH_BYTES);

  constructor({ links, lists, marks }: PersonKeys) {
    this.#marks = new CustomerHash(marks);
    this.#links = new LinkHasher(links);
    this.#lists = new ListKeys(lists);
  }

  /** Returns all marks of a person. */
  marksOf(customer: CustomerNumber, { subject, value }: Person): readonly string[] {
    const marks: string[] = [];
    if (subject === 'browser') marks.push(this.markOf(customer, 'browser', value));
    else marks.push(this.linkMarkOf(customer, subject, value));
    const kinds = subject === `${ENTITY_PREFIX}email` ? ['email', subject] : [subject];
    for (const kind of kinds.flatMap((name) => listKindOf(name) ?? [])) {
      const read = readListTarget(kind, value);
      if (read.kind === 'target') marks.push(this.markOf(customer, 'list', this.#lists.keyOf(customer, read.target)));
    }
    return marks;
  }

  /** The mark of the link that a decision about the person has. `subject`: `ip` or `entity.<name>`; `value`: as of a `Person`. */
  linkMarkOf(customer: CustomerNumber, subject: string, value: string): string {
    if (subject === 'ip') this.#links.update(customer, 'ip', value);
    else this.#links.updateEntity(customer, subject.slice(ENTITY_PREFIX.length), value);
    this.#links.write(this.#link, 0);
    return this.markOf(customer, 'link', this.#link.toString('hex'));
  }

  /** `hash`: as hex digits. 16 hex digits. */
  markOf(customer: CustomerNumber, form: MarkForm, hash: string): string {
    this.#marks.update(customer, FORMS.indexOf(form), hash);
    return hex32(this.#marks.high) + hex32(this.#marks.low);
  }
}

function hex32(value: number): string {
  return value.toString(16).padStart(8, '0');
}
