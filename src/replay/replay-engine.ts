import type { CustomerNumber } from '../kernel/brand.ts';
import type { RequestIds } from '../kernel/ids.ts';
import { BATCH_REQUESTS_MAX } from '../kernel/limits.ts';
import { type DecisionRecord, decodeRecord } from '../risk/decision-record.ts';
import type { Outcome } from '../risk/event-outcome.ts';
import type { PolicySet } from '../risk/policy/policy-set.ts';
import {
  AnswerReader,
  AnswerWriter,
  BatchReader,
  BatchWriter,
  createBatchBuffer,
  REQUEST_PUBLIC_KEY,
} from '../frames/batch-buffer.ts';
import type { RecordKeys } from '../frames/score-messages.ts';
import { Engine } from '../score/engine.ts';
import type { ActiveModel } from '../score/model.ts';
import type { Sources } from '../score/gather.ts';
import type { GeoIp } from '../score/geoip.ts';
import { LocalVelocity } from '../velocity/local-velocity.ts';
import { createVelocityMemory } from '../velocity/memory.ts';
import { readVelocityStats } from '../velocity/stats.ts';

export interface ReplayRequest {
  readonly customer: CustomerNumber;
  /** The time of the decision, Unix ms. */
  readonly atMs: number;
  /** Body of a decide request, at most `DECIDE_BODY_BYTES_MAX` bytes. */
  readonly body: Uint8Array;
  readonly publicKey: boolean;
  /** The id that the decision had or gets: `req_` and 26 characters, unique in this run (`numberedId`). */
  readonly requestId: string;
  /** As in `RequestMeta`. */
  readonly originHash: number;
}

/** `refused`: the body is no decide request; `problem` is the text of the 400. */
export type Replayed =
  | { readonly kind: 'decided'; readonly record: DecisionRecord }
  | { readonly kind: 'refused'; readonly problem: string };

/** The part of a decision that its outcome needs. */
export type Settleable = Pick<DecisionRecord, 'occurredAtMs' | 'publicKey' | 'outcome' | 'trace'>;

export interface ReplayOptions {
  readonly policies: PolicySet;
  readonly geo: Pick<GeoIp, 'crawlers' | 'epoch' | 'lookup'>;
  /** Lists and the registry; null for empty ones. */
  readonly sources: Omit<Sources, 'lookupGeo' | 'geoEpoch' | 'crawlersKnown'> | null;
  /** Size of the scratch velocity table; the service's default is 256 MB. */
  readonly velocityBytes: number;
  /** Keys of the installation whose decisions are made again; null for fixed ones. */
  readonly keys: (RecordKeys & { readonly velocity: Uint8Array }) | null;
  /** Default: none, so that the rules decide alone. */
  readonly model?: ActiveModel | null;
}

const FIXED_KEY = Buffer.alloc(32, 7);
const ID_CHARACTERS = 26;

/**
 * The scoring path of a score worker over a scratch velocity table, in this process: same validation, hashing, GeoIP, rules and own rules,
 * each event at its own time. Stores and sends nothing. The same events give the same decisions.
 */
export class ReplayEngine {
  readonly #engine: Engine;
  readonly #velocity: LocalVelocity;
  readonly #memory: ReturnType<typeof createVelocityMemory>;
  readonly #frame = createBatchBuffer();
  readonly #writer = new BatchWriter(this.#frame);
  readonly #reader = new BatchReader(this.#frame);
  readonly #answers = new AnswerWriter(this.#frame);
  readonly #answered = new AnswerReader(this.#frame);
  readonly #ids = new ReplayIds();

  constructor(options: ReplayOptions) {
    const { policies, geo, sources, velocityBytes, keys, model = null } = options;
    this.#memory = createVelocityMemory(velocityBytes, keys?.velocity ?? FIXED_KEY.subarray(0, 16));
    this.#velocity = new LocalVelocity(this.#memory);
    this.#engine = new Engine({
      sources: {
        findList: (...by) => sources?.findList(...by) ?? null,
        findListKey: (...by) => sources?.findListKey(...by) ?? null,
        listedKinds: (customer) => sources?.listedKinds(customer) ?? null,
        findNamedList: (...by) => (sources === null ? null : sources.findNamedList(...by)),
        hasNamedItem: (...by) => (sources === null ? false : sources.hasNamedItem(...by)),
        findRegistry: (hash, now) => sources?.findRegistry(hash, now) ?? null,
        lookupGeo: (ip, version) => geo.lookup(ip, version),
        geoEpoch: () => geo.epoch(),
        crawlersKnown: () => geo.crawlers(),
      },
      model: { current: () => model },
      policies: { current: () => policies },
      velocity: this.#velocity,
      keys: keys ?? { links: FIXED_KEY, requests: FIXED_KEY, grants: FIXED_KEY, lists: FIXED_KEY },
      ids: this.#ids,
      warmUpVelocity: this.#velocity,
      simulatedVelocity: this.#velocity,
      isDegraded: () => false,
      takeStoreFailure: () => false,
      onMemoryFailed(error) {
        throw error;
      },
    });
  }

  /** Decides requests in order. Rejects when scoring fails. */
  async decide(requests: readonly ReplayRequest[]): Promise<readonly Replayed[]> {
    const replayed: Replayed[] = [];
    while (replayed.length < requests.length) {
      const from = replayed.length;
      this.#writer.reset();
      for (const request of requests.slice(from, from + BATCH_REQUESTS_MAX)) {
        if (!this.#writer.hasRoom(request.body.length)) break;
        const flags = request.publicKey ? REQUEST_PUBLIC_KEY : 0;
        this.#writer.add(request.body, request.customer, flags, request.atMs, request.originHash);
      }
      const { count } = this.#writer;
      if (count === 0) throw new RangeError('a body is larger than a batch buffer');
      this.#ids.requests = requests.slice(from, from + count);
      await this.#engine.scoreBatch(this.#reader, this.#answers, 0, count);
      for (let at = 0; at < count; at++) replayed.push(this.#read(at));
    }
    return replayed;
  }

  /** Counts the outcome of an earlier decision, as a report to `POST /v1/outcomes` at `nowMs` would. */
  settle(customer: CustomerNumber, decided: Settleable, outcome: Outcome, nowMs: number): void {
    const { occurredAtMs, publicKey, trace, outcome: before } = decided;
    if (trace === null || before === outcome) return;
    this.#velocity.settle({ customer, publicKey, trace, occurredAtMs, nowMs, before, outcome });
  }

  /** Returns the number of records that the velocity table has created so far. */
  recordsMade(): number {
    return readVelocityStats(this.#memory).made;
  }

  #read(at: number): Replayed {
    const status = this.#answered.status(at);
    if (status === 200) return { kind: 'decided', record: decodeRecord(this.#answered.record(at)) };
    if (status === 500) throw new Error(`scoring failed: ${this.#answered.record(at).toString()}`);
    return { kind: 'refused', problem: this.#answered.text(at) };
  }
}

/** Gives the decisions of a batch the ids of its requests. */
class ReplayIds implements RequestIds {
  requests: readonly ReplayRequest[] = [];

  create(_customer: number, _kind: string, _nowMs: number, at: number): string {
    const request = this.requests[at];
    if (request === undefined) throw new RangeError(`the batch has no request ${at}`);
    return request.requestId;
  }
}

/** Returns the id of event `n` of a file, which is the same in every run. */
export function numberedId(n: number): string {
  return `req_${String(n).padStart(ID_CHARACTERS, '0')}`;
}
