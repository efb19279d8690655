import { type ChildProcess, fork } from 'node:child_process';

export type ClientOrder =
  /** Begins the traffic again, with the present time in its bodies. */
  | { readonly kind: 'begin' }
  /** Creates `count` requests and signs them with each of the keys; `isAnonymous`: without a session token and entities. */
  | {
      readonly kind: 'prepare';
      readonly count: number;
      readonly keys: readonly string[];
      readonly isAnonymous: boolean;
    }
  /** Sends the requests that were signed with a key; `""` is the first key. `perSecond`: as soon as answered if null. */
  | { readonly kind: 'run'; readonly origin: string; readonly key: string; readonly perSecond: number | null };

export type ClientReport =
  | { readonly kind: 'ready' }
  /** `failed`: the number of responses other than 200 plus the number of broken connections. */
  | { readonly kind: 'done'; readonly origin: string; readonly sent: number; readonly failed: number };

const CLIENT = new URL('closed-loop-process.js', import.meta.url).pathname;

/** Parent side of the client process. */
export class ClosedLoopClient {
  readonly #child: ChildProcess = fork(CLIENT);

  async begin(): Promise<void> {
    await this.#order({ kind: 'begin' });
  }

  /** Prepares the same requests for several servers: they differ only in their signatures. */
  async prepare(keys: readonly string[], count: number, isAnonymous = false): Promise<void> {
    await this.#order({ kind: 'prepare', count, keys, isAnonymous });
  }

  /** Sends the prepared requests and resolves with the last response. Throws unless all of them were answered with 200. */
  async run(origin: string, key: string, perSecond: number | null = null): Promise<void> {
    const report = await this.#order({ kind: 'run', origin, key, perSecond });
    if (report.kind !== 'done' || report.sent === 0) throw new Error('the client did not send');
    if (report.failed > 0) throw new Error(`${report.failed} of ${report.sent} requests to ${origin} failed`);
  }

  /** Sends the requests of the first prepared key, to a server that verifies no signature. */
  async runAny(origin: string, perSecond: number | null = null): Promise<void> {
    await this.run(origin, '', perSecond);
  }

  close(): void {
    this.#child.kill('SIGTERM');
  }

  /** Resolves with the report on this order: a server's orders follow one another, those of several servers overlap. */
  #order(order: ClientOrder): Promise<ClientReport> {
    return new Promise((resolve, reject) => {
      const onExit = (): void => end(() => reject(new Error('the client process ended')));
      const onReport = (report: ClientReport): void => {
        const isOwn =
          order.kind === 'run' ? report.kind === 'done' && report.origin === order.origin : report.kind === 'ready';
        if (isOwn) end(() => resolve(report));
      };
      const end = (settle: () => void): void => {
        this.#child.off('exit', onExit).off('message', onReport);
        settle();
      };
      this.#child.on('exit', onExit).on('message', onReport);
      this.#child.send(order);
    });
  }
}
