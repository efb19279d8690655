import { openMasterKey } from '../../src/state/repair/master-key.ts';
import { openStore, type Store } from '../../src/state/feed/open-store.ts';
import type { StoreWrite } from '../../src/state/tables/durable.ts';
import type { CustomerNumber } from '../../src/kernel/brand.ts';
import { makeDataDirectory } from '../data-directory.ts';
import { createKeyPair, newCustomer } from '../../src/state/feed/key-changes.ts';

/** A data directory with one customer, created before its server starts, and an API client of that customer. */

export interface Seeded {
  readonly customer: CustomerNumber;
  readonly secretKey: string;
}

/** Rate limit of the key, requests per minute. */
const RATE_LIMIT = 100_000_000;

/** Creates a customer; `more` adds further content to the store. */
export async function seed(
  dataDir: string,
  more: (store: Store, customer: CustomerNumber) => Promise<void> = () => Promise.resolve(),
): Promise<Seeded> {
  const key = openMasterKey(dataDir, undefined);
  if (key.kind === 'fault') throw new Error(key.detail);
  await makeDataDirectory(dataDir);
  const opened = openStore({ dataDir, readOnly: false });
  if (opened.kind === 'fault') throw new Error(opened.detail);
  const { store } = opened;
  try {
    const nowMs = Date.now();
    const { number } = valueOf(await store.changes.commit(newCustomer('bench', nowMs), { by: 'service', nowMs }));
    const pair = valueOf(
      await createKeyPair(store.changes, number, { rateLimit: RATE_LIMIT }, { by: 'service', nowMs }),
    );
    await more(store, number);
    return { customer: number, secretKey: pair.secret.text };
  } finally {
    await store.close();
  }
}

export function valueOf<T>(written: StoreWrite<T>): T {
  if (written.kind === 'fault') throw new Error(written.detail);
  return written.value;
}

export interface JobAnswer {
  readonly id: string;
  readonly status: string;
  readonly counts: { readonly collected: number; readonly pages: number; readonly errors: number };
  readonly failure?: { readonly reason: string };
}

/** Number of waits of 30 s, longer than any bench runs. */
const WAITS_MAX = 60;

/** API client of one customer. Throws on error responses. */
export class Caller {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(port: number, secretKey: string) {
    this.#url = `http://127.0.0.1:${port}`;
    this.#headers = { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' };
  }

  async get(path: string): Promise<Response> {
    return this.#taken(path, await fetch(`${this.#url}${path}`, { headers: this.#headers }));
  }

  async create(body: object): Promise<JobAnswer> {
    const init = { method: 'POST', headers: this.#headers, body: JSON.stringify(body) };
    const answer = await this.#taken('the job', await fetch(`${this.#url}/v1/extractions`, init));
    return (await answer.json()) as JobAnswer;
  }

  /** Waits until the job has succeeded and returns it; throws when the job fails. */
  async succeeded(id: string): Promise<JobAnswer> {
    for (let waits = 0; waits < WAITS_MAX; waits++) {
      const job = (await (await this.get(`/v1/extractions/${id}?wait=30`)).json()) as JobAnswer;
      if (job.status === 'succeeded') return job;
      if (job.status === 'failed') throw new Error(`the job failed: ${job.failure?.reason}`);
    }
    throw new Error('the job takes too long');
  }

  async #taken(what: string, answer: Response): Promise<Response> {
    if (answer.status < 300) return answer;
    throw new Error(`${what} returned ${answer.status}: ${await answer.text()}`);
  }
}
