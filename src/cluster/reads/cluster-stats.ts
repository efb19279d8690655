import type { CustomerNumber } from '../../kernel/brand.ts';
import type { DecisionStats, StatsPoint } from '../../history/stats/decision-stats.ts';
import { CountsReader } from '../../history/stats/counts-reader.ts';
import { decodeCounts, encodeCounts, type PeriodCounts } from '../../history/stats/period-counts.ts';
import type { Coverage, HistoryStats } from '../../ports/decision-history.ts';
import { Slices, type Turns } from '../../state/tables/turns.ts';
import { customerIn, isNumber } from './history-wire.ts';
import { type Peers, PEER_PART_BYTES } from '../nodes/peers.ts';

const QUESTION = 'stats.read';

/**
 * The statistics of all nodes: the sums of their counts. Percentiles are those of the summed histograms, so they are exact to a bucket,
 * whatever the shares of the nodes. The counts of a dead node are missing until it is back.
 */
export class ClusterStats implements HistoryStats<Slices> {
  readonly #own: Pick<DecisionStats, 'read'>;
  readonly #peers: Peers;

  constructor(own: Pick<DecisionStats, 'read'>, peers: Peers, turns: Turns) {
    this.#own = own;
    this.#peers = peers;
    peers.handle(QUESTION, (body) => answer(own, turns, body));
  }

  async read(
    customer: CustomerNumber,
    fromSeconds: number,
    toSeconds: number,
    stepSeconds: number,
    slices: Slices,
    visit: (point: StatsPoint) => void,
    coverage?: Coverage,
  ): Promise<void> {
    const points = new Map<number, PeriodCounts>();
    const [, asked] = await Promise.all([
      this.#own.read(customer, fromSeconds, toSeconds, stepSeconds, slices, ({ at, counts }) => points.set(at, counts)),
      this.#peers.ask(QUESTION, [customer, fromSeconds, toSeconds, stepSeconds]),
    ]);
    let { isPartial } = asked;
    for (const { parts } of asked.answers) {
      isPartial = !(await addAll(points, parts, slices)) || isPartial;
    }
    if (coverage !== undefined && isPartial) coverage.isPartial = true;
    for (const [at, counts] of [...points].sort(([a], [b]) => a - b)) {
      visit({ at, counts });
      if (slices.isOver) await slices.begin();
    }
  }
}

/** Returns false if an answer has another form; what it had before is added. */
async function addAll(
  points: Map<number, PeriodCounts>,
  parts: readonly (readonly unknown[])[],
  slices: Slices,
): Promise<boolean> {
  const reader = new CountsReader();
  for (const part of parts) {
    for (let at = 0; at + 1 < part.length; at += 2) {
      const [seconds, bytes] = [part[at], part[at + 1]];
      const counts = Buffer.isBuffer(bytes) ? decodeCounts(bytes, reader) : null;
      if (!isNumber(seconds) || counts === null) return false;
      const known = points.get(seconds);
      if (known === undefined) points.set(seconds, counts);
      else known.merge(counts);
      if (slices.isOver) await slices.begin();
    }
  }
  return true;
}

async function* answer(
  stats: Pick<DecisionStats, 'read'>,
  turns: Turns,
  [who, from, to, step]: readonly unknown[],
): AsyncGenerator<readonly unknown[]> {
  const customer = customerIn(who);
  if (customer === null || !isNumber(from) || !isNumber(to) || !isNumber(step) || step < 60) throw MALFORMED;
  const slices = new Slices(turns, customer);
  await slices.begin();
  const points: unknown[] = [];
  await stats.read(customer, from, to, step, slices, ({ at, counts }) => points.push(at, encodeCounts(counts)));
  let part: unknown[] = [];
  let bytes = 0;
  for (let n = 0; n < points.length; n += 2) {
    const encoded = points[n + 1] as Buffer;
    part.push(points[n], encoded);
    bytes += encoded.length;
    if (bytes > PEER_PART_BYTES) {
      yield part;
      part = [];
      bytes = 0;
    }
  }
  yield part;
}

const MALFORMED = new Error('malformed question');
