import type { Coverage } from '../../ports/decision-history.ts';
import type { KeyUse, KeyUseReader } from '../../ports/key-use.ts';
import { isNumber } from './history-wire.ts';
import type { Peers } from '../nodes/peers.ts';

const QUESTION = 'keys.use';

/** The use of keys on all nodes: the sums of their counts. `sinceSeconds` is that of the node that started last. */
export class ClusterKeyUse implements KeyUseReader {
  readonly #own: KeyUseReader;
  readonly #peers: Peers;

  constructor(own: KeyUseReader, peers: Peers) {
    this.#own = own;
    this.#peers = peers;
    peers.handle(QUESTION, (body) => answer(own, body));
  }

  async readAll(keyNumbers: readonly number[], nowSeconds: number, coverage?: Coverage): Promise<readonly KeyUse[]> {
    const [own, { answers, isPartial }] = await Promise.all([
      this.#own.readAll(keyNumbers, nowSeconds),
      this.#peers.ask(QUESTION, [nowSeconds, ...keyNumbers]),
    ]);
    if (coverage !== undefined && isPartial) coverage.isPartial = true;
    const others = answers.map(({ parts: [part = []] }) => part);
    return own.map((use, at) => others.reduce<KeyUse>((sum, part) => add(sum, part[at]), use));
  }
}

async function* answer(
  own: KeyUseReader,
  [nowSeconds, ...numbers]: readonly unknown[],
): AsyncGenerator<readonly unknown[]> {
  if (!isNumber(nowSeconds) || !numbers.every(isNumber)) throw new Error('malformed question');
  const uses = await own.readAll(numbers, nowSeconds);
  yield uses.map(({ calls, refusals, lastUsedSeconds, sinceSeconds }) => [
    calls,
    [...refusals].flat(),
    lastUsedSeconds,
    sinceSeconds,
  ]);
}

/** Adds what another node answered; anything else changes nothing. */
function add(sum: KeyUse, value: unknown): KeyUse {
  const [calls, flat, lastUsed, since]: readonly unknown[] = Array.isArray(value) ? value : [];
  if (!isNumber(calls) || !Array.isArray(flat) || !isNumber(since)) return sum;
  const refusals = new Map(sum.refusals);
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const [code, count]: readonly unknown[] = [flat[at], flat[at + 1]];
    if (typeof code === 'string' && isNumber(count)) refusals.set(code, (refusals.get(code) ?? 0) + count);
  }
  const last = isNumber(lastUsed) ? Math.max(lastUsed, sum.lastUsedSeconds ?? 0) : sum.lastUsedSeconds;
  return {
    calls: sum.calls + calls,
    refusals,
    lastUsedSeconds: last,
    sinceSeconds: Math.max(sum.sinceSeconds, since),
  };
}
