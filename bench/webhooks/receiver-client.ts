import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type Children, lineOf } from './children.ts';

export type ReceiverOrder =
  /** These paths never respond from now on; all others do. */
  | { readonly kind: 'hang'; readonly paths: readonly string[] }
  | { readonly kind: 'record' }
  /** Makes all paths respond, stops recording and resets the counters. `markAt` is the request whose time is reported as `markMs`. */
  | { readonly kind: 'reset'; readonly markAt?: number }
  | { readonly kind: 'report' };

export interface Arrival {
  readonly path: string;
  readonly requestId: string;
  /** By the machine's monotonic clock. */
  readonly atMs: number;
}

/** Counters since the last reset. */
export interface Received {
  /** Number of requests that got a response. */
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
  /** Time of the request that `reset` marked; 0 before it. */
  readonly markMs: number;
  /** All arrivals while recording; each is reported once. */
  readonly arrivals: readonly Arrival[];
}

/** Parent side of the receiver process. */
export class Receiver {
  readonly port: number;
  readonly child: ChildProcess;

  constructor(child: ChildProcess, port: number) {
    this.child = child;
    this.port = port;
  }

  static async start(children: Children): Promise<Receiver> {
    const child = children.spawn(new URL('./receiver.js', import.meta.url));
    return new Receiver(child, Number(await lineOf(child, () => true)));
  }

  url(path: string): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  order(order: Exclude<ReceiverOrder, { kind: 'report' }>): void {
    this.child.send(order);
  }

  async report(): Promise<Received> {
    const reported = once(this.child, 'message');
    this.child.send({ kind: 'report' } satisfies ReceiverOrder);
    const [received] = (await reported) as [Received];
    return received;
  }

  /** Resolves when `count` requests got a response since the last reset; throws after `secondsMax`. */
  async counted(count: number, secondsMax: number): Promise<Received> {
    const until = performance.now() + secondsMax * 1_000;
    for (;;) {
      const received = await this.report();
      if (received.count >= count) return received;
      if (performance.now() > until) throw new Error(`${received.count} of ${count} arrived in ${secondsMax} s`);
      await new Promise((done) => setTimeout(done, 20));
    }
  }
}
