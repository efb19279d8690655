import type { CustomerNumber } from '../../base/brand.ts';
import type { Extraction, ExtractionId } from '../../core/extraction.ts';
import type { AnyRequest, Waiting } from '../../manage/managed.ts';
import type { ExtractionControl } from '../jobs-port.ts';

/** Choice: calls that wait at once, of all customers and of one. Past it a call does not wait: it tells how the job stands. */
const WAITS_MAX = 1_000;
const WAITS_PER_CUSTOMER_MAX = 100;
/** Choice: how long a call that nobody waits for any more may go on. */
const LOOK_MS = 2_000;

/** Calls that are held until their job ends. */
export class Waits {
  readonly #control: Pick<ExtractionControl, 'find' | 'waitFor'>;
  readonly #waiting = new Map<CustomerNumber, number>();
  #all = 0;

  constructor(control: Pick<ExtractionControl, 'find' | 'waitFor'>) {
    this.#control = control;
  }

  /**
   * The job when it has ended, or as it stands after `msMax`, at once when the service stops, and soon after the client has gone;
   * null when there is none.
   */
  async until(request: AnyRequest, id: ExtractionId, msMax: number): Promise<Extraction | null> {
    const { customer } = request.caller;
    const mine = this.#waiting.get(customer) ?? 0;
    if (msMax === 0 || this.#all >= WAITS_MAX || mine >= WAITS_PER_CUSTOMER_MAX)
      return this.#control.find(customer, id);
    this.#all++;
    this.#waiting.set(customer, mine + 1);
    try {
      return await request.waiting.whileOut(() => this.#wait(request, id, msMax));
    } finally {
      this.#all--;
      const left = (this.#waiting.get(customer) ?? 1) - 1;
      if (left === 0) this.#waiting.delete(customer);
      else this.#waiting.set(customer, left);
    }
  }

  async #wait(request: AnyRequest, id: ExtractionId, msMax: number): Promise<Extraction | null> {
    const { customer } = request.caller;
    const { waiting } = request;
    for (let leftMs = msMax; leftMs > 0; leftMs -= LOOK_MS) {
      if (waiting.stopping.aborted || waiting.isClientGone()) break;
      const looked = await firstOf(this.#control.waitFor(customer, id, Math.min(leftMs, LOOK_MS)), waiting);
      if (looked === STOPPED) break;
      if (looked === null || hasEnded(looked)) return looked;
    }
    return this.#control.find(customer, id);
  }
}

export function hasEnded({ status }: Pick<Extraction, 'status'>): boolean {
  return status === 'succeeded' || status === 'failed';
}

const STOPPED = 'stopped';

/** What is waited for, or that the service stops. The listener goes with the call: the signal lives as long as the service. */
function firstOf<T>(awaited: Promise<T>, { stopping }: Pick<Waiting, 'stopping'>): Promise<T | typeof STOPPED> {
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve(STOPPED);
    stopping.addEventListener('abort', stop, { once: true });
    awaited.then(resolve, reject).finally(() => stopping.removeEventListener('abort', stop));
  });
}
