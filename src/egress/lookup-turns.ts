import { FairEntry, FairQueue } from '../kernel/fair-queue.ts';
import { KeyedSlots } from '../kernel/keyed-slots.ts';

/**
 * Limits concurrent look-ups, with round-robin between domains and a limit for each domain. An owner of hanging names, even many under one
 * domain, thus leaves capacity for others.
 */
export class LookupTurns {
  readonly #slots: KeyedSlots<string>;
  readonly #waiting = new FairQueue<string, () => void>();
  readonly #mayBegin = (domain: string): boolean => this.#slots.hasRoom(domain);

  constructor(max: number, domainMax: number) {
    this.#slots = new KeyedSlots({ all: max, perKey: domainMax });
  }

  /**
   * Calls `ask` when it is this look-up's turn. Rejects with the code `ECANCELLED` if `signal` aborts before that. Once started, a look-up
   * continues.
   */
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
      const onAbort = (): void => {
        this.#waiting.remove(entry);
        reject(cancelled());
      };
      const entry = new FairEntry<string, () => void>(() => {
        this.#slots.take(domain);
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
      this.#waiting.put(domain, entry);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#beginNext();
    });
  }

  #beginNext(): void {
    while (this.#slots.isAnyFree) {
      const begin = this.#waiting.take(this.#mayBegin);
      if (begin === null) return;
      begin();
    }
  }

  #leave(domain: string): void {
    this.#slots.give(domain);
    this.#beginNext();
  }
}

function cancelled(): Error {
  return Object.assign(new Error('the look-up was cancelled before it started'), { code: 'ECANCELLED' });
}

/**
 * Returns the domain that usually has one owner: `example.com`, `example.co.uk`. Choice: guessed from the lengths of the labels. A public
 * suffix list would be more exact, but a wrong guess only makes two owners share a turn.
 */
export function domainOf(host: string): string {
  const labels = (host.endsWith('.') ? host.slice(0, -1) : host).split('.');
  const [second = '', top = ''] = labels.slice(-2);
  return labels.slice(top.length === 2 && second.length <= 3 ? -3 : -2).join('.');
}
