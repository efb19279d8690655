import { BroadcastChannel, threadId } from 'node:worker_threads';
import type { CustomerNumber } from '../base/brand.ts';
import { parsePolicy } from '../core/policy-check.ts';
import type { PolicyDocument, PolicyNote } from '../core/policy-document.ts';
import { DEFAULT_DOCUMENT } from '../core/policy-set.ts';
import type { LayerStatus } from './layer-messages.ts';
import type { PolicyMessage, PolicySeed } from './policy-messages.ts';
import { noteText, policySignature, readPolicyText } from './policy-read.ts';
import { Settling, joined, type LayerLog } from './settling.ts';

export interface PolicyFileOptions {
  /** Null when none is set up: the defaults count. */
  readonly file: string | null;
  /**
   * Between two looks at the file; 0 looks only when `poll` is called. A change counts from the second look that sees it, which
   * comes soon after the first.
   */
  readonly pollMs: number;
  readonly log: LayerLog;
  /** Null for a customer that does not exist. */
  readonly customerNumberOf: (id: string) => CustomerNumber | null;
}

/** The policy file, as the main thread holds it. */
export interface PolicyFile {
  /** For workerData. It is kept up to date in place: pass this very object, and no copy. */
  initial(): PolicySeed;
  /** `broken`: what lies there is not what counts. `version` is of what counts. */
  status(): LayerStatus;
  /** Looks at the file now. Never rejects. */
  poll(): Promise<void>;
  close(): Promise<void>;
}

export type PolicyFileOpened =
  | { readonly kind: 'ok'; readonly policyFile: PolicyFile }
  /** A line for every fault, each naming the setting. */
  | { readonly kind: 'faults'; readonly faults: readonly string[] };

/**
 * Reads the file, then keeps looking. What is wrong with it at the start is a fault, for there is no older policy to keep; later
 * a file that is gone or wrong leaves the last good one in place.
 */
export async function openPolicyFile(options: PolicyFileOptions): Promise<PolicyFileOpened> {
  const watched = new WatchedPolicy(options);
  const faults = await watched.start();
  if (faults.length === 0) return { kind: 'ok', policyFile: watched };
  await watched.close();
  return { kind: 'faults', faults: faults.map((fault) => `GATEHOUSE_POLICY_FILE cannot be used: ${noteText(fault)}`) };
}

/** Choice: a file that stayed as it is for this long is whole; one that was not is refused now and taken later. */
const SETTLE_MS = 200;
/** Choice: as many as one line of a log can be read with. */
const LOGGED_MAX = 20;
/** Choice: a look-up takes some 3 µs, so a file of customers that do not exist costs under 1 ms a look. */
const LOOKUPS_PER_POLL = 256;

let files = 0;

class WatchedPolicy implements PolicyFile {
  readonly #options: PolicyFileOptions;
  readonly #seed: PolicySeed;
  readonly #channel: BroadcastChannel;
  readonly #settling = new Settling(true);
  /** The signature of the latest look. */
  #seen: string | null = null;
  /** The latest look found something else than the one before it. */
  #isMoving = false;
  /** The text that counts. */
  #text: string | null = null;
  /** Why the file as it lies there does not count; empty when it does. */
  #refusal = '';
  /** Customers of the file that have no number yet. The first ones are looked up next. */
  #unknown: string[] = [];
  #timer: NodeJS.Timeout | null = null;
  #polling: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: PolicyFileOptions) {
    this.#options = options;
    files += 1;
    const channel = `gatehouse-policy-${process.pid}-${threadId}-${files}`;
    this.#seed = { channel, content: { generation: 0, document: DEFAULT_DOCUMENT, customerNumbers: new Map() } };
    this.#channel = new BroadcastChannel(channel);
    this.#channel.addEventListener('message', (event: unknown) => {
      const message = (event as { readonly data: PolicyMessage }).data;
      if (message.kind === 'hello' && message.generation < this.#seed.content.generation) this.#send();
    });
    this.#channel.unref();
  }

  /** What is wrong with the file; nothing when it counts. */
  async start(): Promise<readonly PolicyNote[]> {
    if (this.#options.file === null) return [];
    const faults = await this.#look(this.#options.file);
    if (faults.length === 0) this.#schedule();
    return faults;
  }

  initial(): PolicySeed {
    return this.#seed;
  }

  status(): LayerStatus {
    if (this.#options.file === null) {
      return { state: 'absent', version: null, detail: 'no policy file: the defaults count' };
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

  /** Takes what is new and settled. What is wrong with it, when that is news. */
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
      // Only a start needs to know of it now: the next looks will tell.
      return [{ pointer: '', message: 'it is being written' }];
    }
    if (read.text === this.#text) {
      if (this.#refusal !== '')
        this.#options.log.info({ version: this.#seed.content.document.version }, 'policy whole again');
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
    return [];
  }

  #refuse(faults: readonly PolicyNote[]): readonly PolicyNote[] {
    const [first, ...others] = faults;
    const more = others.length === 0 ? '' : `, and ${others.length} more`;
    const reason = first === undefined ? '' : noteText(first);
    this.#refusal = `the policy file does not count, the last good one does: ${reason}${more}`;
    const fields = { faults: faults.slice(0, LOGGED_MAX), more: Math.max(0, faults.length - LOGGED_MAX) };
    // At the start there is nothing to keep, and the faults end it.
    if (this.#text !== null) this.#options.log.warn(fields, 'policy file refused, the last good policy still counts');
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
    log.info({ version: document.version, customers: document.customers.size }, 'policy set');
  }

  /** A customer may be made later than the file that names it. */
  #findCustomers(): void {
    if (this.#unknown.length === 0) return;
    const { document, customerNumbers } = this.#seed.content;
    const numbers = new Map(customerNumbers);
    // What is still unknown goes to the end, so that in time each has its turn.
    for (const id of this.#unknown.splice(0, LOOKUPS_PER_POLL)) this.#lookUp(id, numbers);
    if (numbers.size > customerNumbers.size) this.#publish(document, numbers);
  }

  #lookUp(id: string, numbers: Map<string, CustomerNumber>): void {
    const number = this.#numberOf(id);
    if (number === null) this.#unknown.push(id);
    else numbers.set(id, number);
  }

  /** A store that fails says as little as one without the customer: the next look asks again. */
  #numberOf(id: string): CustomerNumber | null {
    try {
      return this.#options.customerNumberOf(id);
    } catch {
      return null;
    }
  }

  #publish(document: PolicyDocument, customerNumbers: ReadonlyMap<string, CustomerNumber>): void {
    this.#seed.content = { generation: this.#seed.content.generation + 1, document, customerNumbers };
    this.#send();
  }

  #send(): void {
    this.#channel.postMessage({ kind: 'policy', content: this.#seed.content } satisfies PolicyMessage);
  }
}
