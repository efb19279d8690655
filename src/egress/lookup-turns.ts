import { tally } from '../base/tally.ts';

/**
 * Places for look-ups that run at once. Domains take turns, and none has more than its part, so whoever owns names that hang, many of
 * them under one domain, leaves the others their places.
 */
export class LookupTurns {
  readonly #max: number;
  readonly #domainMax: number;
  /** By domain; the one whose turn is next comes first. */
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #running = new Map<string, number>();
  #taken = 0;

  constructor(max: number, domainMax: number) {
    this.#max = max;
    this.#domainMax = domainMax;
  }

  /** Asks when its turn comes. Rejects with the code `ECANCELLED` when `signal` aborts before that; after it, it goes on. */
  async run<T>(host: string, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
    const domain = domainOf(host);
    await this.#turn(domain, signal);
    try {
      return await ask();
    } finally {
      this.#leave(domain);
    }
  }

  #turn(domain: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(cancelled());
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(domain) ?? new Set();
      this.#waiting.set(domain, waiting);
      const begin = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = (): void => {
        waiting.delete(begin);
        if (waiting.size === 0 && this.#waiting.get(domain) === waiting) this.#waiting.delete(domain);
        reject(cancelled());
      };
      waiting.add(begin);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#beginNext();
    });
  }

  #beginNext(): void {
    for (const [domain, waiting] of this.#waiting) {
      if (this.#taken >= this.#max) return;
      const running = this.#running.get(domain) ?? 0;
      const [begin] = waiting;
      if (begin === undefined || running >= this.#domainMax) continue;
      waiting.delete(begin);
      // Its next one has its turn after those of all others.
      this.#waiting.delete(domain);
      if (waiting.size > 0) this.#waiting.set(domain, waiting);
      tally(this.#running, domain, 1);
      this.#taken++;
      begin();
    }
  }

  #leave(domain: string): void {
    this.#taken--;
    tally(this.#running, domain, -1);
    this.#beginNext();
  }
}

function cancelled(): Error {
  return Object.assign(new Error('nobody waits for this look-up any more'), { code: 'ECANCELLED' });
}

/**
 * What one owner usually has all names of: `example.com`, `example.co.uk`. Choice: told by the lengths of labels; a list of public
 * suffixes would be more exact, and a wrong guess only makes two owners share a turn.
 */
export function domainOf(host: string): string {
  const labels = (host.endsWith('.') ? host.slice(0, -1) : host).split('.');
  const [second = '', top = ''] = labels.slice(-2);
  return labels.slice(top.length === 2 && second.length <= 3 ? -3 : -2).join('.');
}
