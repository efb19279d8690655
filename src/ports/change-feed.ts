/**
 * The only way to write the tables of `state`: a write is a value. On a single machine a change is one LMDB transaction. In a cluster it
 * would be one entry of a stream that every node applies in order, and the caller waits until its own node has applied it.
 */
export interface ChangeFeed<Shape extends ChangeShapes, Fault> {
  /**
   * Applies the change and resolves when it is durable. The outcome says what became of it: limits and conflicts are decided where the
   * change is applied, so that they are equal on every node.
   */
  commit<One extends ChangeIn<Shape>>(
    change: One,
    origin: Origin,
    options?: CommitOptions,
  ): Promise<Committing<Shape, One, Fault>>;
  /**
   * Calls `listener` after each change, once, before its `commit` resolves on this node, so that a cache is up to date before the caller
   * continues. Changes with the same `until` are heard in the order in which they are applied, which is the same on all nodes. Changes
   * that were applied before this call are not heard, also if a restart was between. It must be short and must not throw. Returns a
   * function that ends it.
   */
  onCommitted(listener: (committed: Committed<ChangeIn<Shape>>) => void): () => void;
}

/** Kind of change → its fields, and what `commit` returns for it. */
export type ChangeShapes = Readonly<Record<string, { readonly fields: object; readonly outcome: unknown }>>;

/** Every change of these shapes, told apart by `kind`. */
export type ChangeIn<Shape extends ChangeShapes> = {
  readonly [Kind in keyof Shape & string]: { readonly kind: Kind } & Shape[Kind]['fields'];
}[keyof Shape & string];

export type Committing<Shape extends ChangeShapes, One extends { readonly kind: string }, Fault> =
  | { readonly kind: 'ok'; readonly value: Shape[One['kind']]['outcome'] }
  | Fault;

/**
 * Who made a change: a key by its first 12 characters, followed by a slash and the dashboard session if it came by one; the command line, a
 * rule, the circuit breaker of rules, or the service itself.
 */
export type Actor = `key:${string}` | `rule:${string}` | 'circuit_breaker' | 'cli' | 'service';

export interface Origin {
  readonly by: Actor;
  readonly nowMs: number;
}

export interface CommitOptions {
  /**
   * `durable` (the default): a power loss does not undo the change. `visible`: every reader sees it and a crash of the process does not
   * undo it; the next durable change also makes this one durable.
   */
  readonly until?: 'durable' | 'visible';
  /** For changes of many rows, so that preparing them never blocks the main thread for long. */
  readonly slices?: CommitSlices | undefined;
}

/** Time slices of the main thread: await `begin` whenever `isOver`. */
export interface CommitSlices {
  readonly isOver: boolean;
  begin(): Promise<void>;
}

export interface Committed<Change> extends Origin {
  readonly change: Change;
}
