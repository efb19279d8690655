import { BroadcastChannel, threadId } from 'node:worker_threads';
import type { CustomerNumber } from '../kernel/brand.ts';
import { parsePolicy } from '../risk/policy/policy-check.ts';
import type { OwnRule } from '../risk/policy/own-rule.ts';
import type { PolicyDocument, PolicyNote } from '../risk/policy/policy-document.ts';
import { DEFAULT_DOCUMENT, type RulesByCustomer, type TrippedByCustomer } from '../risk/policy/policy-set.ts';
import { MODEL_CODE } from '../risk/rules/model_score.ts';
import { AttributeCounts } from './attribute-counts.ts';
import type { AssetStatus } from './asset-messages.ts';
import type { PolicyContent, PolicyMessage, PolicySeed } from './policy-messages.ts';
import { noteText, policySignature, readPolicyText } from './policy-read.ts';
import { Settling, joined, type AssetLog } from './settling.ts';

export interface PolicyFileOptions {
  /** null if none is configured: the defaults apply. */
  readonly file: string | null;
  /**
   * Poll interval of the file; 0 polls only when `poll` is called. A change takes effect with the second poll that sees it, which follows
   * soon after the first.
   */
  readonly pollMs: number;
  readonly log: AssetLog;
  /** Returns null for a customer that does not exist. */
  readonly customerNumberOf: (id: string) => CustomerNumber | null;
  /** Rules that customers wrote over the API before. */
  readonly rules?: RulesByCustomer;
  /** Called with each policy that becomes active. */
  readonly onLoaded?: (text: string, document: PolicyDocument) => void;
}

/** The policy file, as managed by the main thread. */
export interface PolicyFile {
  /** What the score workers noted of attributes. */
  readonly attributes: AttributeCounts;
  /** For workerData. Updated in place: pass this very object, not a copy. */
  initial(): PolicySeed;
  /** `broken`: the present file is not the active policy. `version` is that of the active policy. */
  status(): AssetStatus;
  /** Polls the file now. Never rejects. */
  poll(): Promise<void>;
  /** Replaces the rules that a customer wrote over the API, for every decision that is scored from now on. */
  setRules(customer: CustomerNumber, rules: readonly OwnRule[]): void;
  /** Sets rules of the present policy back to `observe` for a customer, until another policy becomes active. */
  setTripped(customer: CustomerNumber, codes: readonly string[]): void;
  /** Keeps the model from adding to the decisions of these customers, whatever the policy is; others have it. */
  setModelSilent(customers: ReadonlySet<CustomerNumber>): void;
  close(): Promise<void>;
}

export type PolicyFileOpened =
  | { readonly kind: 'ok'; readonly policyFile: PolicyFile }
  /** One line per fault, each naming the setting. */
  | { readonly kind: 'faults'; readonly faults: readonly string[] };

/**
 * Reads the file, then keeps polling. A fault in the file at the start is an error, because there is no older policy to keep; later, a
 * missing or invalid file leaves the last valid policy active.
 */
export async function openPolicyFile(options: PolicyFileOptions): Promise<PolicyFileOpened> {
  const watched = new WatchedPolicy(options);
  const faults = await watched.start();
  if (faults.length === 0) return { kind: 'ok', policyFile: watched };
  await watched.close();
  return { kind: 'faults', faults: faults.map((fault) => `GATEHOUSE_POLICY_FILE cannot be used: ${noteText(fault)}`) };
}

/**
 * Choice: a file unchanged for this long counts as completely written. If its writer pauses longer, it is rejected and loaded after its
 * next change.
 */
const SETTLE_MS = 200;
/** Choice: as many as are readable in one log line. */
const LOGGED_MAX = 20;
/** Choice: a look-up takes some 3 µs, so a file of customers that do not exist costs under 1 ms per poll. */
const LOOKUPS_PER_POLL = 256;

let files = 0;

class WatchedPolicy implements PolicyFile {
  readonly #options: PolicyFileOptions;
  readonly #seed: PolicySeed;
  readonly #channel: BroadcastChannel;
  readonly attributes = new AttributeCounts();
  readonly #settling = new Settling(true);
  /** The signature at the latest poll. */
  #seen: string | null = null;
  /** Whether the latest poll found another signature than the previous one. */
  #isMoving = false;
  /** The text of the active policy. */
  #text: string | null = null;
  /** Why the present file is not the active policy; empty if it is. */
  #refusal = '';
  /** Customers of the file without a number yet. The first ones are looked up next. */
  #unknown: string[] = [];
  /** Own rules of the active policy. */
  #trippedRules: TrippedByCustomer = new Map();
  #silent: ReadonlySet<CustomerNumber> = new Set();
  #timer: NodeJS.Timeout | null = null;
  #polling: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: PolicyFileOptions) {
    this.#options = options;
    files += 1;
    const channel = `gatehouse-policy-${process.pid}-${threadId}-${files}`;
    const { rules = new Map() } = options;
    this.#seed = {
      channel,
      content: { generation: 0, document: DEFAULT_DOCUMENT, customerNumbers: new Map(), rules, tripped: new Map() },
      posted: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
    };
    this.#channel = new BroadcastChannel(channel);
    this.#channel.addEventListener('message', (event: unknown) => {
      const message = (event as { readonly data: PolicyMessage }).data;
      if (message.kind === 'attributes') this.attributes.add(message.notes);
      if (message.kind === 'hello' && message.generation < this.#seed.content.generation) this.#send();
    });
    this.#channel.unref();
  }

  /** Returns the faults of the file; empty if it is active. */
  async start(): Promise<readonly PolicyNote[]> {
    if (this.#options.file === null) return [];
    const faults = await this.#look(this.#options.file);
    if (faults.length === 0) this.#schedule();
    return faults;
  }

  initial(): PolicySeed {
    return this.#seed;
  }

  status(): AssetStatus {
    if (this.#options.file === null) {
      return { state: 'absent', version: null, detail: 'no policy file: the defaults apply' };
    }
    const { version } = this.#seed.content.document;
    const unknown = this.#unknown.length;
    const details = [this.#refusal, unknown === 0 ? '' : `customers of the policy file that do not exist: ${unknown}`];
    const refused = this.#refusal !== '';
    return { state: refused ? 'broken' : 'ok', version, detail: joined(details), refused };
  }

  poll(): Promise<void> {
    const { file } = this.#options;
    const look = async (): Promise<void> => {
      if (this.#closed || file === null) return;
      await this.#look(file);
      this.#findCustomers();
    };
    const polled = this.#polling.then(look);
    this.#polling = polled;
    return polled;
  }

  setRules(customer: CustomerNumber, own: readonly OwnRule[]): void {
    const { content } = this.#seed;
    const rules = new Map(content.rules);
    if (own.length === 0) rules.delete(customer);
    else rules.set(customer, own);
    this.#changeRules({ ...content, rules }, customer);
  }

  setTripped(customer: CustomerNumber, codes: readonly string[]): void {
    this.#trippedRules = new Map([...this.#trippedRules, [customer, codes]]);
    this.#changeRules({ ...this.#seed.content, tripped: this.#tripped() }, customer);
  }

  setModelSilent(customers: ReadonlySet<CustomerNumber>): void {
    const changed = [...this.#silent, ...customers].filter((one) => !(this.#silent.has(one) && customers.has(one)));
    this.#silent = new Set(customers);
    for (const customer of changed) this.#changeRules({ ...this.#seed.content, tripped: this.#tripped() }, customer);
  }

  #tripped(): TrippedByCustomer {
    const all = new Map(this.#trippedRules);
    for (const customer of this.#silent) all.set(customer, [...(all.get(customer) ?? []), MODEL_CODE]);
    return all;
  }

  #changeRules(content: PolicyContent, customer: CustomerNumber): void {
    const generation = content.generation + 1;
    this.#seed.content = { ...content, generation };
    const rules = content.rules.get(customer) ?? [];
    this.#post({ kind: 'rules', generation, customer, rules, tripped: content.tripped.get(customer) ?? [] });
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#polling;
    this.#channel.close();
  }

  #schedule(): void {
    const { pollMs } = this.#options;
    if (pollMs <= 0 || this.#closed) return;
    const waitMs = this.#isMoving ? Math.min(SETTLE_MS, pollMs) : pollMs;
    this.#timer = setTimeout(() => void this.poll().then(() => this.#schedule()), waitMs).unref();
  }

  /** Loads a new stable file. Returns its faults, if they are new. */
  async #look(file: string): Promise<readonly PolicyNote[]> {
    const seen = await policySignature(file);
    const signature = seen.kind === 'text' ? seen.signature : seen.detail;
    this.#isMoving = signature !== this.#seen;
    this.#seen = signature;
    if (!this.#settling.see(signature)) return [];
    if (seen.kind === 'unreadable') return this.#refuse([{ pointer: '', message: seen.detail }]);
    const read = await readPolicyText(file);
    if (read.kind === 'unreadable') return this.#refuse([{ pointer: '', message: read.detail }]);
    if (read.kind === 'moved' || read.signature !== seen.signature) {
      this.#settling.unsettle();
      // Only a start must report it now; later polls will detect the final state.
      return [{ pointer: '', message: 'it is being written' }];
    }
    if (read.text === this.#text) {
      if (this.#refusal !== '')
        this.#options.log.info({ version: this.#seed.content.document.version }, 'policy recovered');
      this.#refusal = '';
      return [];
    }
    const parsed = parsePolicy(read.text);
    if (parsed.kind === 'faults') return this.#refuse(parsed.faults);
    if (parsed.warnings.length > 0) {
      this.#options.log.warn({ warnings: parsed.warnings.slice(0, LOGGED_MAX).map(noteText) }, 'policy file');
    }
    this.#text = read.text;
    this.#refusal = '';
    this.#take(parsed.document);
    this.#options.onLoaded?.(read.text, parsed.document);
    return [];
  }

  #refuse(faults: readonly PolicyNote[]): readonly PolicyNote[] {
    const [first, ...others] = faults;
    const more = others.length === 0 ? '' : `, and ${others.length} more`;
    const reason = first === undefined ? '' : noteText(first);
    this.#refusal = `the policy file was rejected, the last valid one stays active: ${reason}${more}`;
    const fields = { faults: faults.slice(0, LOGGED_MAX), more: Math.max(0, faults.length - LOGGED_MAX) };
    // At the start there is no policy to keep, and the faults end the process.
    if (this.#text !== null) this.#options.log.warn(fields, 'policy file rejected, the last valid policy stays active');
    return faults;
  }

  #take(document: PolicyDocument): void {
    const { log } = this.#options;
    const numbers = new Map<string, CustomerNumber>();
    this.#unknown = [];
    for (const id of document.customers.keys()) this.#lookUp(id, numbers);
    const unknown = this.#unknown.slice(0, LOGGED_MAX);
    if (unknown.length > 0) {
      log.warn({ customers: unknown, all: this.#unknown.length }, 'customers of the policy file that do not exist');
    }
    this.#publish(document, numbers);
    log.info({ version: document.version, customers: document.customers.size }, 'policy loaded');
  }

  /** A customer may be created after the file that names it. */
  #findCustomers(): void {
    if (this.#unknown.length === 0) return;
    const { document, customerNumbers } = this.#seed.content;
    const numbers = new Map(customerNumbers);
    // Unknown ones move to the end of the list, so that each is retried in turn.
    for (const id of this.#unknown.splice(0, LOOKUPS_PER_POLL)) this.#lookUp(id, numbers);
    if (numbers.size > customerNumbers.size) this.#publish(document, numbers);
  }

  #lookUp(id: string, numbers: Map<string, CustomerNumber>): void {
    const number = this.#numberOf(id);
    if (number === null) this.#unknown.push(id);
    else numbers.set(id, number);
  }

  /** A failing store is treated like one without the customer: the next poll asks again. */
  #numberOf(id: string): CustomerNumber | null {
    try {
      return this.#options.customerNumberOf(id);
    } catch {
      return null;
    }
  }

  #publish(document: PolicyDocument, customerNumbers: ReadonlyMap<string, CustomerNumber>): void {
    const { generation, rules, ...present } = this.#seed.content;
    if (document !== present.document) this.#trippedRules = new Map();
    const tripped = this.#tripped();
    this.#seed.content = { generation: generation + 1, document, customerNumbers, rules, tripped };
    this.#send();
  }

  #send(): void {
    this.#post({ kind: 'policy', content: this.#seed.content });
  }

  /** Posts before it raises the generation, so that a worker that sees it finds the message. */
  #post(message: PolicyMessage): void {
    if (this.#closed) return;
    this.#channel.postMessage(message);
    Atomics.store(new Int32Array(this.#seed.posted), 0, this.#seed.content.generation);
  }
}
