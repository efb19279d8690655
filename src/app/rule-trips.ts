import type { PolicyArchive } from '../assets/policy-archive.ts';
import type { PolicyFile } from '../assets/policy-file.ts';
import { RawRecord } from '../history/decision-log/raw-record.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { Log } from '../observe/log.ts';
import { type Reading, total } from '../observe/reading.ts';
import type { OwnRule, TouchedShare } from '../risk/policy/own-rule.ts';
import type { PolicyDocument } from '../risk/policy/policy-document.ts';
import { DEFAULT_DOCUMENT } from '../risk/policy/policy-set.ts';
import { PolicyView } from '../risk/policy/policy-view.ts';
import { RuleBreaker, tripShare } from '../risk/policy/rule-breaker.ts';
import { readIp } from '../risk/signals/ip.ts';
import type { Store } from '../state/feed/open-store.ts';
import { type RuleTrip, ruleTag, withoutHistory } from '../state/tables/own-rule-table.ts';

interface WatchedRule {
  readonly code: string;
  readonly eventTypes: readonly string[] | null;
  readonly predicted: TouchedShare;
  readonly breaker: RuleBreaker;
  /** The tag of a rule of the API; null for one of the policy file. */
  readonly tag: string | null;
  isTripped: boolean;
}

export interface RuleTripsParts {
  readonly store: Pick<Store, 'rules' | 'customers' | 'changes'>;
  readonly archive: Pick<PolicyArchive, 'at'>;
  readonly policyFile: Pick<PolicyFile, 'setTripped'>;
  readonly log: Log;
}

/** Choice: customers whose rules are known; then all are read again. */
const CUSTOMERS_KEPT = 16_384;
const NONE: readonly WatchedRule[] = [];
const NO_TRIPS: ReadonlyMap<string, RuleTrip> = new Map();

/**
 * The circuit breaker: sets an enforced rule back to `observe` when it touches far more than was predicted. Each node counts the decisions
 * that it makes itself. A rule of the API changes once for all nodes, since the change names the rule's tag; a rule of the policy file is
 * set back on this node until another policy becomes active. Failure direction: a rule that cannot be set back stays enforced and is
 * tried again with the next decision that it touches.
 */
export class RuleTrips {
  readonly #parts: RuleTripsParts;
  readonly #watched = new Map<CustomerNumber, readonly WatchedRule[]>();
  readonly #ofFile = new Map<CustomerNumber, Map<string, RuleTrip>>();
  readonly #record = new RawRecord();
  #document: PolicyDocument | null = null;
  #trips = 0;
  /** Called when a rule of the policy file is set back; the change of a rule of the API reports itself. */
  onFileTripped: (customer: CustomerNumber, code: string, counted: TouchedShare) => void = () => {};

  constructor(parts: RuleTripsParts) {
    this.#parts = parts;
    parts.store.changes.onCommitted(({ change }) => {
      if (change.kind === 'rule.put' || change.kind === 'rule.removed') this.#watched.delete(change.customer);
    });
  }

  get readings(): readonly Reading[] {
    return [total('gatehouse_rules_tripped_total', 'Own rules that this node set back to observe.', () => this.#trips)];
  }

  /** Returns the rules of the present policy file that are set back, by their codes. */
  ofFile(customer: CustomerNumber): ReadonlyMap<string, RuleTrip> {
    this.#followPolicy();
    return this.#ofFile.get(customer) ?? NO_TRIPS;
  }

  /** Counts a decision that was requested with a secret key, by its record. Called after the response was sent. */
  count(customer: CustomerNumber, bytes: Buffer, nowMs: number): void {
    this.#followPolicy();
    let watched = this.#watched.get(customer);
    if (watched === undefined) {
      if (this.#watched.size >= CUSTOMERS_KEPT) this.#watched.clear();
      watched = this.#watch(customer);
      this.#watched.set(customer, watched);
    }
    const record = this.#record;
    if (watched.length === 0 || !record.read(bytes, 0, bytes.length)) return;
    const { eventType } = record;
    const fired = new Set<string>();
    record.contributions((code) => fired.add(code));
    for (const rule of watched) {
      if (rule.isTripped || rule.eventTypes?.includes(eventType) === false) continue;
      if (!fired.has(rule.code)) rule.breaker.pass(nowMs);
      else if (rule.breaker.touch(siteOf(record.ip), nowMs)) this.#trip(customer, rule, nowMs);
    }
  }

  /** Trips of the file are those of one policy. */
  #followPolicy(): void {
    const document = this.#parts.archive.at(Infinity);
    if (document === this.#document) return;
    this.#document = document;
    this.#watched.clear();
    this.#ofFile.clear();
  }

  #watch(customer: CustomerNumber): readonly WatchedRule[] {
    const { store } = this.#parts;
    const view = new PolicyView(this.#document ?? DEFAULT_DOCUMENT, store.customers.find(customer)?.id ?? '');
    const factor = view.policyOf('').rulesTripFactor;
    if (factor === 0) return NONE;
    const tripped = this.ofFile(customer);
    const inFile = view.ruleCodes;
    const rules: (readonly [OwnRule, string | null])[] = [
      ...view.ownRules().flatMap((rule) => (tripped.has(rule.code) ? [] : [[rule, null] as const])),
      ...store.rules
        .of(customer)
        .rules.flatMap((rule) => (inFile.has(rule.code) ? [] : [[rule, ruleTag(rule)] as const])),
    ];
    const watched = rules.flatMap(([{ code, mode, eventTypes, predicted }, tag]) =>
      mode !== 'enforce' || predicted === undefined
        ? []
        : [
            {
              code,
              eventTypes,
              predicted,
              tag,
              breaker: new RuleBreaker(tripShare(predicted, factor)),
              isTripped: false,
            },
          ],
    );
    return watched.length === 0 ? NONE : watched;
  }

  #trip(customer: CustomerNumber, rule: WatchedRule, nowMs: number): void {
    rule.isTripped = true;
    const counted = rule.breaker.counted;
    if (rule.tag !== null) return void this.#tripStored(customer, rule, rule.tag, counted, nowMs);
    const trips = this.#ofFile.get(customer) ?? new Map<string, RuleTrip>();
    this.#ofFile.set(customer, trips.set(rule.code, { ...counted, atMs: nowMs }));
    this.#parts.policyFile.setTripped(customer, [...trips.keys()]);
    this.onFileTripped(customer, rule.code, counted);
    this.#report(customer, rule, counted);
  }

  async #tripStored(
    customer: CustomerNumber,
    watched: WatchedRule,
    tag: string,
    counted: TouchedShare,
    nowMs: number,
  ): Promise<void> {
    const { store, log } = this.#parts;
    const before = store.rules.find(customer, watched.code);
    if (before === null) return;
    const rule = { ...withoutHistory(before), mode: 'observe' } as const;
    const change = { kind: 'rule.put', customer, rule, ifMatch: [tag], tripped: counted } as const;
    const written = await store.changes.commit(change, { by: 'circuit_breaker', nowMs });
    if (written.kind === 'fault') {
      watched.isTripped = false;
      log.warn({ customer, rule: watched.code, detail: written.detail }, 'a rule could not be set back to observe');
      // A stale tag: another node was first, or a person changed the rule.
    } else if (written.value.kind === 'replaced') this.#report(customer, watched, counted);
  }

  #report(customer: CustomerNumber, { code, predicted }: WatchedRule, counted: TouchedShare): void {
    this.#trips++;
    this.#parts.log.error(
      { event: 'rule_tripped', customer, rule: code, ...counted, predicted },
      'circuit breaker: a rule touches far more than predicted and is only observed now',
    );
  }
}

/** Returns the /24 or /48 of an address; one value for all decisions without an address. */
export function siteOf(ip: string | null): string {
  const facts = ip === null ? null : readIp(ip);
  return facts?.kind === 'valid' ? facts.networks.site : '';
}
