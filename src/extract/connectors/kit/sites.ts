import { SourceFailure, type JsonObject } from '../../connector.ts';
import type { FailureReason } from '../../../core/extraction.ts';
import { parseSite } from './address.ts';
import type { ChainStart } from './chain.ts';
import { givenText } from './json.ts';

/** Reasons that say no more than that the interface is not at this address. */
const NOT_HERE: readonly FailureReason[] = ['source_not_found', 'parse_failed', 'unsupported_content'];

/** Begins a chain on the site that `input[name]` gives. Faults point to that input. */
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
 * Asks each candidate until one answers: the interfaces of self-hosted software stand at one of a few addresses. Where none does,
 * the last one's failure is thrown; any other failure than that it is not here ends the search at once.
 */
export async function firstThatAnswers<Candidate, Answer>(
  candidates: readonly Candidate[],
  ask: (candidate: Candidate) => Promise<Answer>,
): Promise<Answer> {
  let failure = new SourceFailure('source_not_found', 'no address to ask', false);
  for (const candidate of candidates) {
    try {
      return await ask(candidate);
    } catch (error) {
      if (!(error instanceof SourceFailure) || !NOT_HERE.includes(error.reason)) throw error;
      failure = error;
    }
  }
  throw failure;
}
