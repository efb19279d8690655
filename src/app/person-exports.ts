import type { ExportState, PersonExportQueue, PersonWish } from '../api/privacy-port.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import { FairEntry, FairQueue } from '../kernel/fair-queue.ts';
import { newId } from '../kernel/ids.ts';
import type { Log } from '../observe/log.ts';
import type { Origin } from '../ports/change-feed.ts';
import { exportPerson } from '../privacy/export-person.ts';
import { type PersonExportFormat, type ExportTexts, PersonExportWriter, unpackExport } from '../privacy/export-text.ts';
import { findPerson, type FindParts, type Sought } from '../privacy/find-person.ts';
import { type Person, readPerson } from '../privacy/person.ts';
import type { Committer } from '../state/feed/changes.ts';
import type { StoreFault } from '../state/tables/durable.ts';
import { Slices } from '../state/tables/turns.ts';

/** How long an export can be fetched. */
export const EXPORT_KEPT_MS = 3_600_000;
/** Choice: exports of a customer that wait or are kept. */
export const EXPORTS_PER_CUSTOMER_MAX = 20;
/** Choice: compressed bytes of all exports of a node. Some are dropped early, the oldest first. */
const KEPT_BYTES_MAX = 64 * 1_048_576;

interface PersonExport extends Omit<ExportState, 'found' | 'leftOut'> {
  status: ExportState['status'];
  finishedAtMs: number | null;
  readonly customer: CustomerNumber;
  readonly person: Person;
  /** Null until it has succeeded. */
  result: ExportTexts | null;
  /** Set while it runs and someone is erased: it may have the person, so it begins again. */
  isStale: boolean;
}

/**
 * Collects what is kept about people, one person after the other; customers take turns. Results are in the memory of this node, compressed,
 * and never on the disk: they end after an hour, with a restart, and with the erasure of anybody of the customer.
 */
export class PersonExports implements PersonExportQueue {
  readonly #parts: FindParts;
  readonly #changes: Committer;
  readonly #nowMs: () => number;
  readonly #log: Log;
  /** The oldest first. */
  readonly #exports = new Map<string, PersonExport>();
  readonly #waiting = new FairQueue<CustomerNumber, PersonExport>();
  readonly #stopping = new AbortController();
  #run: Promise<void> | null = null;

  constructor(parts: Omit<FindParts, 'slicesOf'>, changes: Committer, nowMs: () => number, log: Log) {
    const slicesOf = (customer: CustomerNumber | null): Slices =>
      new Slices(parts.store.turns, customer, this.#stopping.signal);
    this.#parts = { ...parts, slicesOf };
    this.#changes = changes;
    this.#nowMs = nowMs;
    this.#log = log;
  }

  async start(
    { customer, subject, value }: PersonWish,
    origin: Origin,
  ): Promise<ExportState | 'not_a_value' | 'queue_full' | StoreFault> {
    const person = readPerson(subject, value);
    if (person === null) return 'not_a_value';
    this.#dropEnded();
    const own = [...this.#exports.values()].filter((one) => one.customer === customer);
    if (own.length >= EXPORTS_PER_CUSTOMER_MAX) return 'queue_full';
    const id = newId('prv', origin.nowMs);
    const started: PersonExport = {
      id,
      customer,
      subject,
      person,
      requestedAtMs: origin.nowMs,
      status: 'queued',
      finishedAtMs: null,
      result: null,
      isStale: false,
    };
    this.#exports.set(id, started);
    // Recorded first: nobody's data may leave without a trace.
    const written = await this.#changes.commit({ kind: 'person.exported', customer, id, subject }, origin);
    if (written.kind === 'fault') {
      this.#exports.delete(id);
      return written;
    }
    this.#add(started);
    return stateOf(started);
  }

  find(customer: CustomerNumber, id: string): ExportState | null {
    const found = this.#of(customer, id);
    return found === null ? null : stateOf(found);
  }

  async read(customer: CustomerNumber, id: string, format: PersonExportFormat): Promise<Buffer | 'not_ready' | null> {
    const found = this.#of(customer, id);
    if (found === null) return null;
    return found.result === null ? 'not_ready' : await unpackExport(found.result, format);
  }

  /** Drops the results of a customer, because someone is erased; what waits or runs is collected after that. Returns their number. */
  forget(customer: CustomerNumber): number {
    let dropped = 0;
    for (const [id, one] of this.#exports) {
      if (one.customer !== customer) continue;
      one.isStale = true;
      if (one.result === null) continue;
      this.#exports.delete(id);
      dropped++;
    }
    return dropped;
  }

  /** Interrupts what runs, and resolves when nothing here uses the store. */
  async close(): Promise<void> {
    this.#stopping.abort(new Error('the server stops'));
    await this.#run;
    this.#exports.clear();
  }

  #of(customer: CustomerNumber, id: string): PersonExport | null {
    this.#dropEnded();
    const found = this.#exports.get(id);
    return found?.customer === customer ? found : null;
  }

  #dropEnded(): void {
    const endMs = this.#nowMs() - EXPORT_KEPT_MS;
    for (const [id, { finishedAtMs }] of this.#exports)
      if (finishedAtMs !== null && finishedAtMs <= endMs) this.#exports.delete(id);
  }

  #add(one: PersonExport): void {
    this.#waiting.put(one.customer, new FairEntry(one));
    this.#run ??= this.#work();
  }

  async #work(): Promise<void> {
    // `#run` must be set before this can end.
    await Promise.resolve();
    for (let next = this.#waiting.take(); next !== null && !this.#stopping.signal.aborted; next = this.#waiting.take())
      await this.#carryOut(next);
    this.#run = null;
  }

  /** Never rejects. */
  async #carryOut(one: PersonExport): Promise<void> {
    one.status = 'running';
    one.isStale = false;
    try {
      const result = await this.#collect(one);
      if (one.isStale) return this.#add(one);
      one.result = result;
      one.status = 'succeeded';
      this.#log.info({ id: one.id, found: result.found }, 'a person was exported');
    } catch (error) {
      one.status = 'failed';
      if (!this.#stopping.signal.aborted) this.#log.error({ err: error, id: one.id }, 'an export failed');
    }
    one.finishedAtMs = this.#nowMs();
    // Dropped also if nobody asks for it.
    setTimeout(() => this.#dropEnded(), EXPORT_KEPT_MS + 1_000).unref();
    this.#makeRoom();
  }

  async #collect({ customer, person, requestedAtMs }: PersonExport): Promise<ExportTexts> {
    const { subject } = person;
    const marks = this.#parts.marker.marksOf(customer, person);
    const sought: Sought = { customer, subject, person, marks, untilMs: requestedAtMs };
    const writer = new PersonExportWriter({ subject, value: person.value, requestedAtMs });
    const finding = await findPerson(this.#parts, sought, this.#nowMs());
    await exportPerson(finding, (place, row) => writer.add(place, row));
    return writer.end();
  }

  #makeRoom(): void {
    let bytes = 0;
    for (const { result } of this.#exports.values()) bytes += result?.bytes ?? 0;
    for (const [id, { result }] of this.#exports) {
      if (bytes <= KEPT_BYTES_MAX) return;
      if (result === null) continue;
      bytes -= result.bytes;
      this.#exports.delete(id);
    }
  }
}

function stateOf({ id, subject, requestedAtMs, status, finishedAtMs, result }: PersonExport): ExportState {
  return { id, subject, requestedAtMs, status, finishedAtMs, found: result?.found ?? {}, leftOut: result?.left ?? {} };
}
