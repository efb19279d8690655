import type { CommitOptions, Origin } from '../../ports/change-feed.ts';
import type { StoreWrite } from '../tables/durable.ts';
import type { Change, OutcomeOf, StateFeed } from './changes.ts';

/** The feed of a node, and what this node itself changed by it: changes of other nodes of a cluster are not heard here. */
export class OwnChanges implements StateFeed {
  readonly #feed: StateFeed;
  #listener: ((change: Change, outcome: unknown) => void) | null = null;

  constructor(feed: StateFeed) {
    this.#feed = feed;
  }

  commit<One extends Change>(
    change: One,
    origin: Origin,
    options?: CommitOptions,
  ): Promise<StoreWrite<OutcomeOf<One['kind']>>> {
    const written = this.#feed.commit(change, origin, options);
    const listener = this.#listener;
    if (listener !== null)
      void written.then(
        (done) => {
          if (done.kind === 'ok') listener(change, done.value);
        },
        // The caller gets the error.
        () => {},
      );
    return written;
  }

  onCommitted(listener: Parameters<StateFeed['onCommitted']>[0]): () => void {
    return this.#feed.onCommitted(listener);
  }

  /** Calls the only `listener` after each change of this node that was made, with its outcome. It must not throw. */
  onOwnCommitted(listener: (change: Change, outcome: unknown) => void): void {
    this.#listener = listener;
  }
}
