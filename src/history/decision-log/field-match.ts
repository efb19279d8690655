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
}

export class FieldMatch implements RecordMatch {
  readonly #fields: RecordFields;
  /** Texts that a matching record has in its bytes. */
  readonly #texts: readonly Buffer[];
  readonly #raw = new RawRecord();

  constructor(fields: RecordFields) {
    this.#fields = fields;
    const texts = [fields.reason, fields.eventType].filter((text) => text !== null && text !== '');
    this.#texts = texts.map((text) => Buffer.from(text ?? ''));
  }

  mayMatch(bytes: Buffer, from: number, end: number): boolean {
    const piece = bytes.subarray(from, end);
    return this.#texts.every((text) => piece.includes(text));
  }

  mayMatchRecord(bytes: Buffer, from: number, end: number): boolean {
    const { scoreMin, scoreMax } = this.#fields;
    if ((scoreMin !== null || scoreMax !== null) && this.#raw.read(bytes, from, end)) {
      const { score } = this.#raw;
      if ((scoreMin !== null && score < scoreMin) || (scoreMax !== null && score > scoreMax)) return false;
    }
    return this.mayMatch(bytes, from, end);
  }

  matches({ eventType, score, contributions }: DecisionRecord): boolean {
    const wanted = this.#fields;
    return (
      (wanted.eventType === null || eventType === wanted.eventType) &&
      (wanted.scoreMin === null || score >= wanted.scoreMin) &&
      (wanted.scoreMax === null || score <= wanted.scoreMax) &&
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
