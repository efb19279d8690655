import type { CustomerNumber } from '../../kernel/brand.ts';
import type { Coverage } from '../../ports/decision-history.ts';
import type { ReportedOutcome, ReportedOutcomes } from '../../ports/outcome-reports.ts';
import { OUTCOMES } from '../../risk/event-outcome.ts';
import { Slices, type Turns } from '../../state/tables/turns.ts';
import { customerIn, isNumber } from './history-wire.ts';
import type { Peers } from '../nodes/peers.ts';

const QUESTION = 'outcomes.report';

/**
 * Outcomes of the decisions of all nodes. What this node does not know goes to all others at once; the one that has the decision settles
 * it, so an outcome counts once, on whatever nodes it is reported. If that node does not answer, the outcome is refused as unknown;
 * reporting it again is safe.
 */
export class ClusterOutcomes implements ReportedOutcomes<Slices> {
  readonly #own: ReportedOutcomes<Slices>;
  readonly #peers: Peers;

  constructor(own: ReportedOutcomes<Slices>, peers: Peers, turns: Turns) {
    this.#own = own;
    this.#peers = peers;
    peers.handle(QUESTION, (body) => answer(own, turns, body));
  }

  async report(
    customer: CustomerNumber,
    reports: readonly ReportedOutcome[],
    nowMs: number,
    slices: Slices,
    coverage?: Coverage,
  ): Promise<readonly boolean[]> {
    const accepted = [...(await this.#own.report(customer, reports, nowMs, slices))];
    const unknown = reports.flatMap((one, at) => (accepted[at] === true ? [] : [{ ...one, at }]));
    if (unknown.length === 0) return accepted;
    const flat = unknown.flatMap(({ requestId, outcome }) => [requestId, OUTCOMES.indexOf(outcome)]);
    const { answers, isPartial } = await this.#peers.ask(QUESTION, [customer, nowMs, ...flat]);
    for (const settled of answers.flatMap(({ parts }) => parts[0] ?? [])) {
      const one = isNumber(settled) ? unknown[settled] : undefined;
      if (one !== undefined) accepted[one.at] = true;
    }
    if (coverage !== undefined && isPartial && accepted.includes(false)) coverage.isPartial = true;
    return accepted;
  }
}

/** Answers with the positions of those that this node has accepted. */
async function* answer(
  own: ReportedOutcomes<Slices>,
  turns: Turns,
  [who, nowMs, ...flat]: readonly unknown[],
): AsyncGenerator<readonly unknown[]> {
  const customer = customerIn(who);
  if (customer === null || !isNumber(nowMs)) throw new Error('malformed question');
  const reports: ReportedOutcome[] = [];
  for (let at = 0; at < flat.length; at += 2) {
    const outcome = OUTCOMES[Number(flat[at + 1])];
    if (outcome === undefined) throw new Error('malformed question');
    reports.push({ requestId: String(flat[at]), outcome });
  }
  const slices = new Slices(turns, customer);
  await slices.begin();
  const accepted = await own.report(customer, reports, nowMs, slices);
  yield accepted.flatMap((isAccepted, at) => (isAccepted ? [at] : []));
}
