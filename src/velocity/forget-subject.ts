import type { CustomerNumber } from '../kernel/brand.ts';
import type { HistoryEvent } from '../risk/history.ts';
import { EventKeys } from './event-keys.ts';
import { mix } from './keys.ts';
import type { VelocityMemory } from './memory.ts';
import { Table } from './table.ts';

/** A subject of the velocity store, as events have it. */
export type VelocitySubject =
  | { readonly kind: 'entity'; readonly name: string; readonly value: string }
  | { readonly kind: 'address'; readonly networks: NonNullable<HistoryEvent['networks']> }
  /** The hash of a browser's id. */
  | { readonly kind: 'browser'; readonly hash: string };

/** Choice: above every salt of `keys.ts` that derives a key from that of a subject. */
const SALTS_END = 340;

/**
 * Removes the records of one subject from the table, and those derived from its key: outcomes, contexts, sets, counters. Members of other
 * subjects' sets stay; they are 16 bits of a hash. Main thread; some 2 ms.
 */
export function forgetSubject(memory: VelocityMemory, customer: CustomerNumber, subject: VelocitySubject): number {
  const table = new Table(memory);
  return visitSubject(memory, customer, subject, (low, high) => table.forget(low, high));
}

/** Returns how many records `forgetSubject` would remove. */
export function countSubject(memory: VelocityMemory, customer: CustomerNumber, subject: VelocitySubject): number {
  const table = new Table(memory);
  return visitSubject(memory, customer, subject, (low, high) => table.count(low, high));
}

/** Takes a key; returns the number of its records. */
type KeyVisitor = (low: number, high: number) => number;

function visitSubject(
  memory: VelocityMemory,
  customer: CustomerNumber,
  subject: VelocitySubject,
  visit: KeyVisitor,
): number {
  const keys = new EventKeys(memory.hashKey, new Map());
  let found = 0;
  for (const publicKey of [false, true]) {
    if (subject.kind === 'entity') {
      keys.readEntity(customer, publicKey, subject.name, subject.value);
      const [low = 0, high = 0, name = 0] = [keys.entityLow[0], keys.entityHigh[0], keys.nameHash[0]];
      found += visitDerived(visit, low, high, name);
    } else if (subject.kind === 'browser') {
      keys.readBrowser(customer, publicKey, subject.hash);
      found += visitDerived(visit, keys.browserLow, keys.browserHigh, 0);
    } else {
      keys.readAddress(customer, publicKey, subject.networks);
      found += visitDerived(visit, keys.hostLow, keys.hostHigh, 0);
    }
  }
  return found;
}

/** Passes a key, and every key that a record derives from it, at two levels: a set may overflow into a sketch. */
function visitDerived(visit: KeyVisitor, low: number, high: number, name: number): number {
  let all = visit(low, high) + visit(~low, ~high);
  let level: (readonly [number, number])[] = [[low, high]];
  for (let depth = 0; depth < 2; depth++) {
    const next: (readonly [number, number])[] = [];
    for (const [a, b] of level) {
      for (let salt = 1; salt < SALTS_END; salt++) {
        const derived = [
          [mix(a, b, salt), mix(b, a, salt)],
          [mix(a, name, salt), mix(b, name, salt)],
        ] as const;
        for (const [c, d] of derived) {
          const found = visit(c, d);
          if (found > 0) next.push([c, d]);
          all += found;
        }
      }
    }
    level = next;
  }
  return all;
}
