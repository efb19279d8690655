import { SourceFailure, type JsonObject } from '../../base/connector.ts';
import type { FailureReason } from '../../../work/extraction-job.ts';
import { parseSite } from './api-address.ts';
import type { ChainStart } from './chain.ts';
import { givenText } from './json.ts';

/** Failure reasons that mean only that the interface is not at this URL; the later ones say more. */
const NOT_HERE: readonly FailureReason[] = ['source_not_found', 'unsupported_content', 'parse_failed'];

/** Starts a chain on the site in `input[name]`. Faults point to that input. */
export function beginAt<Args extends JsonObject>(
  input: JsonObject,
  argsOf: (site: string) => Args,
  name = 'site',
): ChainStart<Args> {
  const site = parseSite(givenText(input, name));
  if (site.kind === 'fault') return { kind: 'fault', pointer: `/${name}`, message: site.message };
  return { kind: 'args', args: argsOf(site.url) };
}

/**
 * Tries each candidate until one responds, because the interface of self-hosted software is at one of a few URLs. If none responds, throws
 * the failure that says most, the first of equal ones. Any failure other than "not here" ends the search immediately.
 */
export async function firstThatAnswers<Candidate, Answer>(
  candidates: readonly Candidate[],
  ask: (candidate: Candidate) => Promise<Answer>,
): Promise<Answer> {
  let failure: SourceFailure | null = null;
  for (const candidate of candidates) {
    try {
      return await ask(candidate);
    } catch (error) {
      if (!(error instanceof SourceFailure) || !NOT_HERE.includes(error.reason)) throw error;
      if (failure === null || NOT_HERE.indexOf(error.reason) > NOT_HERE.indexOf(failure.reason)) failure = error;
    }
  }
  throw failure ?? new SourceFailure('source_not_found', 'no address to call', false);
}
