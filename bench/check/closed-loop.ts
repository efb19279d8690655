import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Target } from '../open-loop/targets.ts';
import { ProcessorClock } from './processor-time.ts';

export type ClientOrder =
  | { readonly kind: 'prepare'; readonly count: number; readonly key: string; readonly withSession: boolean }
  | { readonly kind: 'run'; readonly origin: string };

export type ClientReport =
  | { readonly kind: 'ready' }
  /** `failed`: the number of responses other than 200 plus the number of broken connections. */
  | { readonly kind: 'done'; readonly failed: number; readonly wallMs: number };

/** Cost of a fixed number of requests to a server, µs per request. */
export interface Cost {
  readonly processorUs: number;
  readonly wallUs: number;
}

const CLIENT = new URL('closed-loop-process.js', import.meta.url).pathname;

/** Parent side of the client process. */
export class ClosedLoopClient {
  readonly #child: ChildProcess = fork(CLIENT);

  /** Returns the processor time of the server process from the first request to the last response. */
  async load(server: Target, count: number, withSession = true): Promise<Cost> {
    await this.#order({ kind: 'prepare', count, key: server.key, withSession });
    const clock = new ProcessorClock(server.pid);
    const fromUs = clock.readUs();
    const report = await this.#order({ kind: 'run', origin: server.origin });
    const processorUs = (clock.readUs() - fromUs) / count;
    if (report.kind !== 'done') throw new Error('the client did not send');
    if (report.failed > 0) throw new Error(`${report.failed} of ${count} requests to ${server.name} failed`);
    return { processorUs, wallUs: (report.wallMs * 1_000) / count };
  }

  close(): void {
    this.#child.kill('SIGTERM');
  }

  async #order(order: ClientOrder): Promise<ClientReport> {
    const ended = new AbortController();
    const onExit = (): void => ended.abort(new Error('the client process ended'));
    this.#child.once('exit', onExit);
    try {
      const reported = once(this.#child, 'message', { signal: ended.signal });
      this.#child.send(order);
      const [report] = (await reported) as [ClientReport];
      return report;
    } finally {
      this.#child.off('exit', onExit);
    }
  }
}
