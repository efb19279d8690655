import { setTimeout as delay } from 'node:timers/promises';
import { unreachable } from '../../kernel/brand.ts';
import { visitorShare } from '../../kernel/capacity-share.ts';
import { FixedWindow } from '../../kernel/fixed-window.ts';
import { KeyedHash } from '../../kernel/keyed-hash.ts';
import { REPLAY_KEEP_SECONDS } from '../../kernel/limits.ts';
import type {
  Admission,
  AdmissionRequest,
  AdmittedId,
  RateWindowName,
  AdmissionVerdict,
} from '../../ports/admission.ts';
import { Group, type SharedVerdict, Verdicts } from './admission-batch.ts';
import { ADMISSION_FUNCTIONS, ID_NODES, OVER_RATE } from './admission-functions.ts';
import type { FunctionCall } from '../store/functions.ts';
import { type IdChangeKind, IdChanges } from './id-changes.ts';
import { type Link, LINK_DEADLINE_MS, type Reply, type Sent } from '../store/link.ts';
import { requestIdKey } from '../store/store-keys.ts';

/** Admission by the memory of one node, which answers at once. */
export interface LocalVerdicts extends Admission {
  admit<T extends AdmissionRequest>(batch: readonly T[]): readonly AdmissionVerdict<T>[];
}

export interface ClusterAdmissionOptions {
  readonly link: Link;
  readonly local: LocalVerdicts;
  /** At least 8 secret bytes, the same on all nodes: ids and visitors are known to the store by their keyed hash only. */
  readonly hashKey: Buffer;
  /** Unique in the cluster. */
  readonly nodeId: string;
  /** True: requests that cannot be counted in the shared store are refused. False: this node decides alone. */
  readonly isStrict: boolean;
  /** Time for one round trip. */
  readonly deadlineMs?: number;
  /** Maximum number of changes of ids that wait for the store. */
  readonly changesMax?: number;
}

/** Totals since the start. */
export interface ClusterAdmissionCounts {
  /** Calls of `admit` that used the store, and the requests in them. */
  readonly batches: number;
  readonly requests: number;
  /** Requests that this node decided alone. */
  readonly alone: number;
  /** Requests that strict mode refused. */
  readonly refused: number;
  /** Changes of ids that wait for the store, and those that were dropped because too many waited. */
  readonly waiting: number;
  readonly dropped: number;
  /** `performance.now()` when a request was last decided alone or refused; -Infinity if never. */
  readonly lastFaultAtMs: number;
}

/** Choice: 20 MB; five minutes of 3,500 decisions per second, all of whose ids are still valid. */
const CHANGES_MAX = 1_048_576;
/** Choice: some 2 ms of the store's time. */
const CHANGES_AT_ONCE = 1_000;
const WRITE_MS = 100;
const WRITE_DEADLINE_MS = 1_000;
/** Choice: writes a full queue to a store that answers, and fits into the 10 s of a shutdown. */
const CLOSE_MS = 2_000;
const CLOSE_POLL_MS = 20;

/**
 * Admission over several nodes. Rate windows, visitors' shares and request ids are counted in the shared store: the requests of one turn
 * take one round trip, with one function call for each key among them. What the store admits is then admitted by the local admission too,
 * whose verdict counts if it refuses: a node refuses by itself what it has accepted before, also when the store has forgotten it, and the
 * journal and the bounds of this node (`full`) stay as they are without a cluster. So each node holds the ids that it admitted, within its
 * own bounds, and the store those of all nodes; the store's bound is its `maxmemory`, beyond which it counts as faulty.
 *
 * When the store does not answer within the deadline, or refuses, this node decides alone, from its own counts. Ids admitted alone are
 * written to the store when it is back. Strict mode refuses instead (`unavailable`); an id whose use is then unknown stays used up.
 *
 * Windows and the expiry of ids follow the clock of the calling node, so the store's clock plays no part. An id stays in the store for
 * 60 s beyond its expiry: nodes whose clocks differ by less still refuse each other's ids.
 *
 * Measured (bench:admission, ratios on two shared cores): one command for each key of a batch. Processor time for a decision is 20 µs
 * alone, 5.8 µs in batches of 8 and 4.6 µs in batches of 16 of one key, against 1.2, 0.73 and 0.69 µs of the local admission; 11 µs in
 * batches of 8 of 8 keys. About a third of it is the system call that writes. One core of the store bears 77,000, 197,000 and 243,000
 * decisions/s (8 keys in a batch of 8: 105,000). An id takes 129 bytes of its memory. With a store that was late by 500 ms, paused, silent,
 * killed or without memory, the p99 of `admit` was at most 21 ms above its usual one on a machine with ten times the work that it can do.
 */
export class ClusterAdmission implements Admission {
  readonly #link: Link;
  readonly #local: LocalVerdicts;
  readonly #hash: KeyedHash;
  readonly #node: number;
  readonly #isStrict: boolean;
  readonly #deadlineMs: number;
  readonly #changes: IdChanges;
  readonly #timer: NodeJS.Timeout;
  readonly #windows: Readonly<Record<RateWindowName, FixedWindow>> = {
    decide: new FixedWindow(),
    management: new FixedWindow(),
    outcomes: new FixedWindow(),
  };
  #isWriting = false;
  #nowSeconds = 0;
  #batches = 0;
  #requests = 0;
  #alone = 0;
  #refused = 0;
  #lastFaultAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ClusterAdmissionOptions) {
    this.#link = options.link;
    this.#local = options.local;
    this.#hash = new KeyedHash(options.hashKey);
    this.#hash.update(0, options.nodeId);
    this.#node = this.#hash.low % ID_NODES;
    this.#isStrict = options.isStrict;
    this.#deadlineMs = options.deadlineMs ?? LINK_DEADLINE_MS;
    this.#changes = new IdChanges(options.changesMax ?? CHANGES_MAX);
    this.#timer = setInterval(() => void this.#writeChanges(), WRITE_MS).unref();
  }

  get counts(): ClusterAdmissionCounts {
    return {
      batches: this.#batches,
      requests: this.#requests,
      alone: this.#alone,
      refused: this.#refused,
      waiting: this.#changes.count,
      dropped: this.#changes.dropped,
      lastFaultAtMs: this.#lastFaultAtMs,
    };
  }

  /** Answers at once while the store is known not to answer. */
  admit<T extends AdmissionRequest>(
    batch: readonly T[],
  ): readonly AdmissionVerdict<T>[] | Promise<readonly AdmissionVerdict<T>[]> {
    const last = batch.at(-1);
    if (last === undefined) return [];
    this.#nowSeconds = last.nowSeconds;
    const verdicts = new Verdicts<T>(batch.length);
    if (!this.#link.isUp) {
      for (const [at, request] of batch.entries()) this.#undecided(verdicts, at, request);
      return this.#settle(verdicts);
    }
    this.#batches++;
    this.#requests += batch.length;
    const groups = this.#groupsOf(batch);
    return ADMISSION_FUNCTIONS.call(this.#link, groups, this.#deadlineMs).then((sent) => {
      for (const [n, group] of groups.entries()) this.#read(group, sent[n], verdicts);
      return this.#settle(verdicts);
    });
  }

  stage(id: AdmittedId): void {
    this.#local.stage(id);
  }

  release(id: AdmittedId): void {
    this.#local.release(id);
    this.#change('release', id);
  }

  /** Lets the store load the functions, so that the first requests do not wait for it. */
  async prepare(): Promise<void> {
    await ADMISSION_FUNCTIONS.call(this.#link, [{ name: 'release', keys: [requestIdKey(0, 0, 0)], args: ['0'] }]);
  }

  /** Writes the changes that wait, as far as the store takes them within `CLOSE_MS`. Call it when no request is admitted any more. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const endMs = performance.now() + CLOSE_MS;
    while (this.#changes.count > 0 && performance.now() < endMs) {
      await this.#writeChanges();
      if (this.#changes.count > 0) await delay(CLOSE_POLL_MS);
    }
  }

  /** Requests of one key that follow one another with the same window, second and allowance; usually all of a key. */
  #groupsOf<T extends AdmissionRequest>(batch: readonly T[]): readonly Group<T>[] {
    const groups: Group<T>[] = [];
    const lastOf = new Map<number, Group<T>>();
    for (const [at, request] of batch.entries()) {
      const window = this.#windows[request.window];
      window.roll(request.nowSeconds);
      let group = lastOf.get(request.keyNumber);
      if (group === undefined || !group.accepts(request, window.endSeconds)) {
        group = new Group<T>(request, window.endSeconds, window.startSeconds);
        groups.push(group);
        lastOf.set(request.keyNumber, group);
      }
      this.#add(group, at, request);
    }
    return groups;
  }

  #add<T extends AdmissionRequest>(group: Group<T>, at: number, request: T): void {
    const { keyNumber, requestId, source, timestampSeconds } = request;
    group.requests.push({ at, request });
    if (requestId === null) group.args.push('');
    else {
      this.#hash.update(keyNumber, requestId);
      group.keys.push(requestIdKey(keyNumber, this.#hash.low, this.#hash.high));
      group.args.push(this.#valueOf(timestampSeconds + REPLAY_KEEP_SECONDS));
    }
    if (!group.hasVisitors) return;
    if (source !== null) this.#hash.update(keyNumber, source);
    group.args.push(source === null ? '' : `${this.#hash.low.toString(36)}.${this.#hash.high.toString(36)}`);
  }

  #valueOf(expiresAtSeconds: number): string {
    return String(expiresAtSeconds * ID_NODES + this.#node);
  }

  /** Applies the store's verdicts on one group; whatever is not a verdict leaves its requests undecided. */
  #read<T extends AdmissionRequest>(group: Group<T>, sent: Sent | undefined, verdicts: Verdicts<T>): void {
    const codes = sent?.kind === 'reply' && Array.isArray(sent.reply) ? (sent.reply as readonly Reply[]) : [];
    for (const [n, { at, request }] of group.requests.entries()) {
      const code = codes[n];
      if (typeof code !== 'number') {
        this.#undecided(verdicts, at, request);
        continue;
      }
      const limit = request.source === null ? request.allowance : visitorShare(request.allowance);
      const { resetSeconds } = group;
      const retryAfterSeconds = Math.max(1, resetSeconds - request.nowSeconds);
      const remaining = code === OVER_RATE ? 0 : Math.floor(code / 2);
      const rate = { request, limit, remaining, resetSeconds, retryAfterSeconds };
      if (code === OVER_RATE) verdicts.all[at] = { outcome: 'rate_limited', ...rate };
      else if ((code & 1) === 1) verdicts.all[at] = { outcome: 'replayed', ...rate };
      else verdicts.askLocal(at, request, { outcome: 'admitted', ...rate, id: null });
    }
  }

  #undecided<T extends AdmissionRequest>(verdicts: Verdicts<T>, at: number, request: T): void {
    this.#lastFaultAtMs = performance.now();
    if (this.#isStrict) {
      this.#refused++;
      verdicts.all[at] = { outcome: 'unavailable', request };
    } else {
      this.#alone++;
      verdicts.askLocal(at, request, null);
    }
  }

  /** Completes the verdicts by those of the local admission, in the order of the batch. */
  #settle<T extends AdmissionRequest>(verdicts: Verdicts<T>): readonly AdmissionVerdict<T>[] {
    for (const [n, own] of this.#local.admit(verdicts.asked).entries()) {
      const at = verdicts.askedAt[n] ?? 0;
      const shared = verdicts.shared[n] ?? null;
      verdicts.all[at] = shared === null ? this.#admitAlone(own) : this.#confirm(shared, own);
    }
    return verdicts.all;
  }

  #admitAlone<T>(own: AdmissionVerdict<T>): AdmissionVerdict<T> {
    if (own.outcome !== 'admitted') return own;
    if (own.id !== null) this.#changes.push('remember', own.id);
    return { ...own, isDegraded: true };
  }

  /** The store has admitted it, so it has counted it and remembers its id. */
  #confirm<T extends AdmissionRequest>(shared: SharedVerdict<T>, own: AdmissionVerdict<T>): AdmissionVerdict<T> {
    switch (own.outcome) {
      case 'admitted':
        return { ...shared, id: own.id };
      case 'full':
        this.#release(shared.request);
        return { ...shared, outcome: 'full' };
      case 'rate_limited':
        this.#release(shared.request);
        return own;
      case 'replayed':
        return { ...shared, outcome: 'replayed' };
      case 'unavailable':
        return own;
      default:
        return unreachable(own);
    }
  }

  /** Frees an id in the store that this node refused after all. */
  #release({ keyNumber, requestId, timestampSeconds }: AdmissionRequest): void {
    if (requestId === null) return;
    this.#hash.update(keyNumber, requestId);
    const { low, high } = this.#hash;
    const expiresAtSeconds = timestampSeconds + REPLAY_KEEP_SECONDS;
    this.#change('release', { hashLow: low, hashHigh: high, expiresAtSeconds, keyNumber });
  }

  /** Sends it at once unless other changes wait: they keep their order. Behind later calls of `admit` it would come too late. */
  #change(kind: IdChangeKind, id: AdmittedId): void {
    if (!this.#link.isUp || this.#changes.count > 0) {
      this.#changes.push(kind, id);
      return;
    }
    void ADMISSION_FUNCTIONS.call(this.#link, this.#callsFor(kind, [id]), WRITE_DEADLINE_MS).then(([sent]) => {
      if (sent?.kind !== 'reply') this.#changes.push(kind, id);
    });
  }

  async #writeChanges(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    while (this.#changes.count > 0 && this.#link.isUp && (await this.#writeSome()));
    this.#isWriting = false;
  }

  /** Returns whether the store took them. What one primary did not take goes to the end of the queue. */
  async #writeSome(): Promise<boolean> {
    const { kind, ids } = this.#changes.peek(CHANGES_AT_ONCE);
    this.#changes.drop(ids.length);
    const valid = ids.filter(({ expiresAtSeconds }) => expiresAtSeconds > this.#nowSeconds);
    const calls = this.#callsFor(kind, valid);
    const sent = await ADMISSION_FUNCTIONS.call(this.#link, calls, WRITE_DEADLINE_MS);
    let isWritten = true;
    for (const [n, call] of calls.entries()) {
      if (sent[n]?.kind === 'reply') continue;
      isWritten = false;
      for (const id of call.ids) this.#changes.push(kind, id);
    }
    return isWritten;
  }

  #callsFor(
    kind: IdChangeKind,
    ids: readonly AdmittedId[],
  ): readonly (FunctionCall & { readonly ids: AdmittedId[] })[] {
    const byKey = new Map<number, AdmittedId[]>();
    for (const id of ids) {
      const some = byKey.get(id.keyNumber);
      if (some === undefined) byKey.set(id.keyNumber, [id]);
      else some.push(id);
    }
    return [...byKey.values()].map((some) => ({
      name: kind,
      ids: some,
      keys: some.map(({ keyNumber, hashLow, hashHigh }) => requestIdKey(keyNumber, hashLow, hashHigh)),
      args: [
        ...(kind === 'remember' ? [String(this.#nowSeconds)] : []),
        ...some.map(({ expiresAtSeconds }) => this.#valueOf(expiresAtSeconds)),
      ],
    }));
  }
}
