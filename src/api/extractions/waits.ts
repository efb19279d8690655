import type { CustomerNumber } from '../../kernel/brand.ts';
import type { Extraction, ExtractionId } from '../../work/extraction-job.ts';
import { hasEnded } from '../../work/extraction-state.ts';
import type { AnyRequest, Waiting } from '../kit/endpoint-types.ts';
import type { ExtractionControl } from '../../extract/base/jobs-port.ts';

/**
 * Choice: maximum number of waiting calls, in total and per customer. Beyond it, a call returns the job's current state without waiting.
 */
const WAITS_MAX = 1_000;
const WAITS_PER_CUSTOMER_MAX = 100;
/** Choice: how long (ms) a call may continue after its client has disconnected. */
const LOOK_MS = 2_000;

/** Holds calls until their job ends. */
export class Waits {
  readonly #control: Pick<ExtractionControl, 'find' | 'waitFor'>;
  readonly #waiting = new Map<CustomerNumber, number>();
  #all = 0;

  constructor(control: Pick<ExtractionControl, 'find' | 'waitFor'>) {
    this.#control = control;
  }

  /**
   * Returns the job once it has ended, or its current state after `msMax`. Returns at once when the service stops, and soon after the
   * client has disconnected. Null if there is no such job.
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

const STOPPED = 'stopped';

/**
 * Resolves with the awaited value, or when the service stops. Removes its listener after the call, because the signal lives as long as the
 * service.
 */
function firstOf<T>(awaited: Promise<T>, { stopping }: Pick<Waiting, 'stopping'>): Promise<T | typeof STOPPED> {
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve(STOPPED);
    stopping.addEventListener('abort', stop, { once: true });
    awaited.then(resolve, reject).finally(() => stopping.removeEventListener('abort', stop));
  });
}
