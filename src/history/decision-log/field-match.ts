import { RawRecord } from './raw-record.ts';
import type { DecisionRecord } from '../../risk/decision-record.ts';

/** A criterion that is checked on a record's bytes first, so that few records are unpacked. */
export interface RecordMatch {
  /** Returns false if nothing in these bytes can match. */
  mayMatch(bytes: Buffer, from: number, end: number): boolean;
  /** The same for the bytes of one record, which may be read more closely. */
  mayMatchRecord(bytes: Buffer, from: number, end: number): boolean;
  matches(record: DecisionRecord): boolean;
}

/** Exact values of a record's fields; null for any. */
export interface RecordFields {
  readonly eventType: string | null;
  readonly reason: string | null;
  readonly scoreMin: number | null;
  readonly scoreMax: number | null;
  readonly asn: number | null;
  /** Beginning of the path. */
  readonly path: string | null;
  /** Domain of an identity, lower case. */
  readonly emailDomain: string | null;
}

export class FieldMatch implements RecordMatch {
  readonly #fields: RecordFields;
  /** Texts that a matching record has in its bytes. */
  readonly #texts: readonly Buffer[];
  /** `@` and the domain, in any case in a record. */
  readonly #domain: string | null;
  readonly #raw = new RawRecord();

  constructor(fields: RecordFields) {
    this.#fields = fields;
    const domain = fields.emailDomain === null ? null : `@${fields.emailDomain}`;
    const texts = [fields.reason, fields.eventType, fields.path].filter((text) => text !== null && text !== '');
    this.#texts = texts.map((text) => Buffer.from(text ?? ''));
    this.#domain = domain;
  }

  mayMatch(bytes: Buffer, from: number, end: number): boolean {
    const piece = bytes.subarray(from, end);
    if (!this.#texts.every((text) => piece.includes(text))) return false;
    return this.#domain === null || piece.latin1Slice().toLowerCase().includes(this.#domain);
  }

  mayMatchRecord(bytes: Buffer, from: number, end: number): boolean {
    const { scoreMin, scoreMax, asn } = this.#fields;
    if ((scoreMin !== null || scoreMax !== null || asn !== null) && this.#raw.read(bytes, from, end)) {
      const { score } = this.#raw;
      if (asn !== null && this.#raw.asn !== asn) return false;
      if ((scoreMin !== null && score < scoreMin) || (scoreMax !== null && score > scoreMax)) return false;
    }
    return this.mayMatch(bytes, from, end);
  }

  matches({ eventType, score, contributions, asn, path, identities }: DecisionRecord): boolean {
    const wanted = this.#fields;
    return (
      (wanted.eventType === null || eventType === wanted.eventType) &&
      (wanted.scoreMin === null || score >= wanted.scoreMin) &&
      (wanted.scoreMax === null || score <= wanted.scoreMax) &&
      (wanted.asn === null || asn === wanted.asn) &&
      (wanted.path === null || path?.startsWith(wanted.path) === true) &&
      (this.#domain === null || identities?.some((text) => text.toLowerCase().endsWith(this.#domain ?? '')) === true) &&
      (wanted.reason === null || contributions.some(({ code }) => code === wanted.reason))
    );
  }
}

/** All of several criteria. */
export class AllMatch implements RecordMatch {
  readonly #all: readonly RecordMatch[];

  constructor(all: readonly RecordMatch[]) {
    this.#all = all;
  }

  mayMatch(bytes: Buffer, from: number, end: number): boolean {
    return this.#all.every((match) => match.mayMatch(bytes, from, end));
  }

  mayMatchRecord(bytes: Buffer, from: number, end: number): boolean {
    return this.#all.every((match) => match.mayMatchRecord(bytes, from, end));
  }

  matches(record: DecisionRecord): boolean {
    return this.#all.every((match) => match.matches(record));
  }
}
