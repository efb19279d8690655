import type { CustomerNumber } from '../../src/kernel/brand.ts';
import type { Decision } from '../../src/risk/decision.ts';
import type { DecisionRecord } from '../../src/risk/decision-record.ts';
import type { RecordedContribution } from '../../src/risk/record-contributions.ts';
import type { PolicySet } from '../../src/risk/policy/policy-set.ts';
import type { GeoContent, GeoSlot } from '../../src/assets/asset-messages.ts';
import { numberedId, ReplayEngine, type Settleable } from '../../src/replay/replay-engine.ts';
import { createGeoIp, type GeoIp } from '../../src/score/geoip.ts';
import type { ActiveModel } from '../../src/score/model.ts';
import type { TrafficEvent } from '../../scripts/traffic/events.ts';
import type { OutcomeSink } from './outcomes.ts';

export interface EngineParts {
  readonly geo: Readonly<Record<GeoSlot, GeoContent>>;
  readonly policies: PolicySet;
  /** Choice of the caller; the service uses 256 MB. */
  readonly velocityBytes: number;
  /** Default: the rules decide alone. */
  readonly model?: ActiveModel | null;
  /** Receives each decision in order. */
  readonly onRecord?: (event: TrafficEvent, record: DecisionRecord) => void;
}

export interface Decided {
  readonly requestId: string;
  readonly decision: Decision;
  /** 0 to 100, one decimal. */
  readonly score: number;
  /** Rules that fired, with their weights. */
  readonly contributions: readonly RecordedContribution[];
}

/** The engine of a replay, with empty lists and an empty registry. A fixed key: two runs with the same seed give the same figures. */
export interface DetectEngine {
  readonly geo: GeoIp;
  /** Decides events in order, each at its own time. Rejects when a response is not a 200. */
  decide(events: readonly TrafficEvent[]): Promise<readonly Decided[]>;
  /** Receives the outcomes of earlier events. */
  readonly outcomes: OutcomeSink;
  /** Number of records of 137 bytes that the velocity store has created so far. */
  recordsMade(): number;
}

/** Choice: outcomes arrive 400 ms after their decisions; far fewer decisions than this are made in that time. */
const OPEN_MAX = 10_000;

export function openDetectEngine(parts: EngineParts): DetectEngine {
  const { geo: contents, policies, velocityBytes, model = null, onRecord } = parts;
  const geo = createGeoIp(contents);
  const engine = new ReplayEngine({ policies, geo, sources: null, velocityBytes, keys: null, model });
  /** Decisions whose outcome may still be reported. */
  const open = new Map<string, Settleable>();
  let sent = 0;

  return {
    geo,
    outcomes: {
      report({ requestId, customerNumber, outcome, atMs }) {
        const decided = open.get(requestId);
        if (decided === undefined) throw new Error(`no pending decision for ${requestId}`);
        open.delete(requestId);
        engine.settle(customerNumber as CustomerNumber, decided, outcome, atMs);
      },
    },
    async decide(events) {
      const replayed = await engine.decide(
        events.map(({ body, atMs, session }) => ({
          customer: session.customer.number as CustomerNumber,
          atMs,
          body: Buffer.from(JSON.stringify(body)),
          publicKey: false,
          requestId: numberedId(++sent),
          originHash: 0,
        })),
      );
      return replayed.map((one, at) => {
        if (one.kind === 'refused') throw new Error(`a request was refused: ${one.problem}`);
        const { requestId, decision, score, contributions } = one.record;
        const event = events[at];
        if (event !== undefined) onRecord?.(event, one.record);
        if (event?.outcome !== null) open.set(requestId, one.record);
        while (open.size > OPEN_MAX) open.delete(String(open.keys().next().value));
        return { requestId, decision, score, contributions };
      });
    },
    recordsMade: () => engine.recordsMade(),
  };
}
