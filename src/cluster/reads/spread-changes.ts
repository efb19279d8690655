import { setTimeout as delay } from 'node:timers/promises';
import type { CommitOptions, Origin } from '../../ports/change-feed.ts';
import type { Change, Committer, OutcomeOf } from '../../state/feed/changes.ts';
import type { StoreWrite } from '../../state/tables/durable.ts';
import { isNumber } from './history-wire.ts';
import type { Peers } from '../nodes/peers.ts';

export interface SpreadParts {
  readonly peers: Peers;
  /** Number of the last change that this node has applied. */
  readonly position: () => number;
}

const QUESTION = 'changes.applied';
/**
 * Choice: a node that does not answer delays each change by this until the membership declares it dead. Measured with three nodes in one
 * process over Redis: median 1 ms, p99 10 ms on a busy machine.
 */
const SPREAD_MS = 300;
const POLL_MS = 2;

/**
 * Makes a change count on all nodes before its caller gets the response: a client that creates a webhook and then sends a decision to
 * another node expects its delivery. A node that is late has no influence on the outcome.
 */
export class SpreadChanges {
  readonly #parts: SpreadParts;

  constructor(parts: SpreadParts) {
    this.#parts = parts;
    parts.peers.handle(QUESTION, (body) => this.#answer(body));
  }

  /** Returns commits that resolve when all live nodes have applied the change, or after `SPREAD_MS`. */
  over(changes: Committer): Committer {
    return {
      commit: async <One extends Change>(
        change: One,
        origin: Origin,
        options?: CommitOptions,
      ): Promise<StoreWrite<OutcomeOf<One['kind']>>> => {
        const written = await changes.commit(change, origin, options);
        if (written.kind === 'ok')
          await this.#parts.peers.ask(QUESTION, [this.#parts.position()], { deadlineMs: SPREAD_MS });
        return written;
      },
    };
  }

  async *#answer([number]: readonly unknown[]): AsyncGenerator<readonly unknown[]> {
    if (!isNumber(number)) throw new Error('malformed question');
    const endMs = performance.now() + SPREAD_MS;
    while (this.#parts.position() < number && performance.now() < endMs) await delay(POLL_MS);
    yield [this.#parts.position()];
  }
}
