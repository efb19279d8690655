import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type Children, lineOf } from './children.ts';

export type ReceiverOrder =
  /** These paths never answer from now on, and all others do. */
  | { readonly kind: 'hang'; readonly paths: readonly string[] }
  | { readonly kind: 'record' }
  /** All paths answer, nothing is written down or counted yet. */
  | { readonly kind: 'reset' }
  | { readonly kind: 'report' };

export interface Arrival {
  readonly path: string;
  readonly requestId: string;
  /** Of the machine's monotonic clock. */
  readonly atMs: number;
}

/** Since the last reset. */
export interface Received {
  /** Answered ones. */
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
  /** All that came, if it records; each is told once. */
  readonly arrivals: readonly Arrival[];
}

/** The receiver's process, seen from the bench. */
export class Receiver {
  readonly port: number;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async start(children: Children): Promise<Receiver> {
    const child = children.spawn('receiver.js');
    return new Receiver(child, Number(await lineOf(child, () => true)));
  }

  url(path: string): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  order(order: Exclude<ReceiverOrder, { kind: 'report' }>): void {
    this.#child.send(order);
  }

  async report(): Promise<Received> {
    const reported = once(this.#child, 'message');
    this.#child.send({ kind: 'report' } satisfies ReceiverOrder);
    const [received] = (await reported) as [Received];
    return received;
  }

  /** Resolves when so many were answered since the last reset, or throws when they stay away. */
  async counted(count: number, secondsMax: number): Promise<Received> {
    const until = performance.now() + secondsMax * 1_000;
    for (;;) {
      const received = await this.report();
      if (received.count >= count) return received;
      if (performance.now() > until) throw new Error(`${received.count} of ${count} arrived in ${secondsMax} s`);
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}
