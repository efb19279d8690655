import { KeyedHash } from '../kernel/keyed-hash.ts';
import type { MailDomainHistory, MailKey } from '../risk/crowds.ts';
import type { EventKeys } from './event-keys.ts';
import { mix, SALT_MAIL_DOMAIN, SALT_MAILBOX } from './keys.ts';
import { KIND_LONG_SET } from './layout.ts';
import { SetRecords } from './set-record.ts';
import type { Table } from './table.ts';
import { setMemberOf, type SetSpan, TimedSet } from './timed-set.ts';

/**
 * Mail domains, from the first account on, and spellings of mailboxes whose address is not spelled like the mailbox.
 *
 *   domain    0 hash   1 first seen, Unix seconds   2 the customer's age then, s   3-31 networks that signed up, 29 of 3 days
 *   mailbox   0 hash   spellings of 30 days (`set-record.ts`)
 */
const AT_FIRST = 1;
const AT_AGE = 2;
const DAY_MS = 86_400_000;
const NEW_SECONDS = 3 * 86_400;
const THREE_DAY_SET: SetSpan = { windowMs: 3 * DAY_MS, keepMs: 3 * DAY_MS, tickMs: 4_000 };
const MONTH_SET: SetSpan = { windowMs: 30 * DAY_MS, keepMs: 30 * DAY_MS, tickMs: 45_000 };

export class MailRecords {
  readonly #table: Table;
  readonly #hash: KeyedHash;
  readonly #networks: TimedSet;
  readonly #spellings: SetRecords;

  /** `hashKey` holds at least 16 secret bytes. */
  constructor(table: Table, hashKey: Uint8Array) {
    this.#table = table;
    this.#hash = new KeyedHash(Buffer.from(hashKey));
    this.#networks = new TimedSet(table, { at: 3, words: 29, span: THREE_DAY_SET }, true);
    this.#spellings = new SetRecords(table, KIND_LONG_SET, MONTH_SET);
  }

  /** Records the domain of a new account; for a sign-up, its network too. Returns null when the record is unavailable. */
  domain(
    { registrable }: MailKey,
    keys: EventKeys,
    isSignup: boolean,
    customerAgeSeconds: number,
    nowMs: number,
  ): MailDomainHistory | null {
    const table = this.#table;
    const { words } = table;
    const nowSeconds = Math.floor(nowMs / 1_000);
    const hash = this.#hash;
    hash.update(keys.populationLow, registrable);
    const low = mix(hash.low, hash.high, SALT_MAIL_DOMAIN);
    const record = table.take(low, mix(hash.high, hash.low, SALT_MAIL_DOMAIN), KIND_LONG_SET, nowSeconds);
    if (record === 0) return null;
    const rest = table.restSeconds;
    if (table.isNew) Atomics.store(words, record + AT_AGE, customerAgeSeconds);
    const first = Atomics.compareExchange(words, record + AT_FIRST, 0, nowSeconds) || nowSeconds;
    const knownForSeconds = Math.max(0, nowSeconds - first);
    const takesIn = isSignup && keys.site !== 0 && knownForSeconds < NEW_SECONDS;
    const networks3d = takesIn ? this.#networks.see(record, setMemberOf(keys.site), nowMs, rest) : 0;
    return { networks3d, knownForSeconds, customerAgeThenSeconds: words[record + AT_AGE] ?? 0 };
  }

  /**
   * Returns the number of spellings of the mailbox in 30 days, this one included; 0 for an address spelled like its mailbox. `wasSeen`: the
   * mailbox is known. If it is known but none of its spellings is stored, it was used with its plain spelling, which then counts too.
   */
  spellings({ canonical, spelling }: MailKey, keys: EventKeys, wasSeen: boolean, nowMs: number): number {
    if (spelling === canonical) return 0;
    const hash = this.#hash;
    hash.update(keys.populationLow, canonical);
    const plain = setMemberOf(hash.high);
    const low = mix(hash.low, hash.high, SALT_MAILBOX);
    const high = mix(hash.high, hash.low, SALT_MAILBOX);
    hash.update(keys.populationLow, spelling);
    const count = this.#spellings.see(low, high, setMemberOf(hash.high), nowMs);
    return count === 1 && wasSeen && !this.#spellings.wasKnown ? this.#spellings.see(low, high, plain, nowMs) : count;
  }
}
