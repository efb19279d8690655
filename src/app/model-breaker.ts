import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readActiveChoice, type ActiveChoice } from '../assets/model-candidates.ts';
import type { PolicyArchive } from '../assets/policy-archive.ts';
import type { PolicyFile } from '../assets/policy-file.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import { isTestCustomer } from '../kernel/test-customers.ts';
import type { Log } from '../observe/log.ts';
import { level, type Reading, total } from '../observe/reading.ts';
import { isStop } from '../risk/decision.ts';
import { decodeRecord, type DecisionRecord } from '../risk/decision-record.ts';
import { explain } from '../risk/explain.ts';
import { DEFAULT_DOCUMENT } from '../risk/policy/policy-set.ts';
import { PolicyView } from '../risk/policy/policy-view.ts';
import { RuleBreaker } from '../risk/policy/rule-breaker.ts';
import { MODEL_CODE } from '../risk/rules/model_score.ts';
import type { Store } from '../state/feed/open-store.ts';
import type { RuleTrip } from '../state/tables/own-rule-table.ts';
import { isCode, writeWhole } from '../state/tables/write-files.ts';
import { siteOf } from './rule-trips.ts';

/** Source: contract, 9.12. */
export const MODEL_TRIP_FACTOR = 5;
/** Choice: of a model that was trained without `--budget`: the share of honest sessions that docs/models.md trains with. */
export const DEFAULT_BUDGET = 0.002;
/** Name of the file in the data directory. It has numbers of customers, and nothing of their people. */
const FILE = 'model-silence.json';
const FILE_MODE = 0o600;
/** Choice: customers that are counted, some 2 KB each; beyond that the one counted longest is counted again. */
const CUSTOMERS_KEPT = 4_096;
/**
 * Source: contract, 9.12. Choice: a model that is wrong stops some 50 honest sessions a day at most until somebody looks; an attacker who
 * spends as many blocked sessions, to be rid of the model, has to spend them each day.
 */
const SILENCE_MS = 24 * 3_600_000;
/** Choice: as often as the files of the model are looked at. */
const FOLLOW_MS = 1_000;

export interface ModelBreakerParts {
  readonly dataDir: string;
  readonly modelsDir: string;
  readonly store: Pick<Store, 'customers'>;
  readonly archive: Pick<PolicyArchive, 'at'>;
  readonly policyFile: Pick<PolicyFile, 'setModelSilent'>;
  readonly nowMs: () => number;
  readonly log: Log;
}

/**
 * The circuit breaker of the active model: where the model alone stops more than five times its budget of a customer's decisions within an
 * hour, it adds nothing for that customer for a day, or until a model is chosen again. The rules go on.
 *
 * Choice: each customer has a breaker, so a flood at one customer never silences the model for another. One machine cannot trip it
 * either: the alarms come from at least `BREAKER_NETWORKS_MIN` networks, and requests with a public key are not counted, which anyone can
 * send. A wide attack that only the model finds does trip it; from outside it looks like a model that is wrong, and the rules alone
 * are the safer side. Each node counts its own decisions. Failure direction: a silence that cannot be written ends with the process.
 */
export class ModelBreaker {
  readonly #parts: ModelBreakerParts;
  readonly #breakers = new Map<CustomerNumber, RuleBreaker>();
  readonly #silent = new Map<CustomerNumber, RuleTrip>();
  #active: ActiveChoice | null = null;
  #trips = 0;
  #alarms = 0;

  constructor(parts: ModelBreakerParts) {
    this.#parts = parts;
  }

  get readings(): readonly Reading[] {
    return [
      level('gatehouse_model_silent_customers', 'Customers for which the model adds nothing.', () => this.#silent.size),
      total('gatehouse_model_alarms_total', 'Decisions that the model alone stopped.', () => this.#alarms),
      total('gatehouse_model_silenced_total', 'Circuit breakers of the model that tripped.', () => this.#trips),
    ];
  }

  /** For `/readyz`, without names of customers; empty while the model counts. */
  get detail(): string {
    const customers = this.#silent.size;
    if (customers === 0) return '';
    const whom = customers === 1 ? '1 customer' : `${customers} customers`;
    return `circuit breaker: the model adds nothing for ${whom}, see models resume`;
  }

  /** Returns since when the model adds nothing for a customer, and what it did before; null while it counts. */
  silenceOf(customer: CustomerNumber): RuleTrip | null {
    return this.#silent.get(customer) ?? null;
  }

  /** Reads what an earlier process noted, then follows which model is active. */
  async start(): Promise<void> {
    this.#active = await readActiveChoice(this.#parts.modelsDir);
    const noted = await this.#read();
    if (this.#active !== null && noted?.choice === this.#active.choice) {
      for (const [customer, trip] of noted.trips) this.#silent.set(customer, trip);
      this.#endSilences();
      this.#parts.policyFile.setModelSilent(new Set(this.#silent.keys()));
      if (this.#silent.size > 0)
        this.#parts.log.warn({ customers: [...this.#silent.keys()] }, 'the model is still silent after the restart');
    }
    setInterval(() => void this.follow(), FOLLOW_MS).unref();
  }

  /** Begins again if another model is active, or the same was chosen again, and ends what is silent long enough. Never rejects. */
  async follow(): Promise<void> {
    const active = await readActiveChoice(this.#parts.modelsDir);
    const before = this.#silent.size;
    if (active !== null && active.choice !== this.#active?.choice) {
      this.#active = active;
      this.#breakers.clear();
      this.#silent.clear();
    }
    this.#endSilences();
    if (this.#silent.size === before) return;
    this.#parts.policyFile.setModelSilent(new Set(this.#silent.keys()));
    this.#write();
    const customers = before - this.#silent.size;
    this.#parts.log.info({ event: 'model_resumed', model: this.#active?.id, customers }, 'the model counts again');
  }

  /** Counts a decision that was requested with a secret key, by its record. `hasFired`: the model. Called after the response was sent. */
  count(customer: CustomerNumber, record: Buffer, hasFired: boolean, nowMs: number): void {
    if (this.#active === null || this.#silent.has(customer) || isTestCustomer(customer)) return;
    let breaker = this.#breakers.get(customer);
    if (breaker === undefined) {
      const [longest] = this.#breakers.keys();
      if (longest !== undefined && this.#breakers.size >= CUSTOMERS_KEPT) this.#breakers.delete(longest);
      breaker = new RuleBreaker(MODEL_TRIP_FACTOR * this.#budget);
      this.#breakers.set(customer, breaker);
    }
    const decision = hasFired ? decodeRecord(record) : null;
    if (decision === null || !this.#isAlarm(customer, decision)) return breaker.pass(nowMs);
    this.#alarms++;
    if (breaker.touch(siteOf(decision.ip), nowMs)) this.#silence(customer, breaker, nowMs);
  }

  #endSilences(): void {
    const nowMs = this.#parts.nowMs();
    for (const [customer, { atMs }] of this.#silent)
      if (Math.abs(nowMs - atMs) >= SILENCE_MS) this.#silent.delete(customer);
  }

  get #budget(): number {
    return this.#active?.budget ?? DEFAULT_BUDGET;
  }

  /** Returns whether the decision is a stop, and would be none without the model. */
  #isAlarm(customer: CustomerNumber, record: DecisionRecord): boolean {
    if (!isStop(record.wouldBe ?? record.decision)) return false;
    const { store, archive } = this.#parts;
    const document = archive.at(Infinity) ?? DEFAULT_DOCUMENT;
    const { bands } = new PolicyView(document, store.customers.find(customer)?.id ?? '').policyOf(record.eventType);
    const at = record.contributions.findIndex(({ code }) => code === MODEL_CODE);
    const without = explain(record, bands).contributions[at]?.without?.decision ?? null;
    return without !== null && !isStop(without);
  }

  #silence(customer: CustomerNumber, { counted }: RuleBreaker, nowMs: number): void {
    this.#trips++;
    this.#breakers.delete(customer);
    this.#silent.set(customer, { ...counted, atMs: nowMs });
    this.#parts.policyFile.setModelSilent(new Set(this.#silent.keys()));
    this.#parts.log.error(
      { event: 'model_silenced', customer, model: this.#active?.id, ...counted, budget: this.#budget },
      'circuit breaker: the model alone stops five times its budget and adds nothing for this customer for a day',
    );
    this.#write();
  }

  #write(): void {
    const { dataDir, log } = this.#parts;
    const content = { choice: this.#active?.choice, silent: [...this.#silent] };
    try {
      writeWhole(join(dataDir, FILE), `${JSON.stringify(content)}\n`, FILE_MODE);
    } catch (error) {
      log.error({ err: error }, 'the silence of the model could not be written: it ends with this process');
    }
  }

  /** Returns null without a valid file. */
  async #read(): Promise<{ readonly choice: string; readonly trips: readonly Silence[] } | null> {
    try {
      const { choice, silent } = JSON.parse(await readFile(join(this.#parts.dataDir, FILE), 'utf8')) as Noted;
      if (typeof choice === 'string' && Array.isArray(silent)) return { choice, trips: silent.filter(isSilence) };
    } catch (error) {
      if (isCode(error, 'ENOENT')) return null;
    }
    this.#parts.log.warn({ file: FILE }, 'the silence of the model cannot be read: it counts for every customer');
    return null;
  }
}

type Silence = readonly [CustomerNumber, RuleTrip];
type Noted = Readonly<Record<'choice' | 'silent', unknown>>;

function isSilence(value: unknown): value is Silence {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [customer, trip] = value as readonly unknown[];
  const { atMs, touched, decisions } = Object(trip) as Readonly<Record<keyof RuleTrip, unknown>>;
  return [customer, atMs, touched, decisions].every((one) => Number.isSafeInteger(one) && Number(one) >= 0);
}
