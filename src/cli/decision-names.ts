import { InvalidArgumentError } from 'commander';
import { DECISIONS } from '../contract/vocabulary.ts';
import type { Decision } from '../risk/decision.ts';

/** Reads names of decisions, separated by commas, in any case. */
export function parseDecisions(text: string): readonly Decision[] {
  const names = [...new Set(text.split(',').map((name) => name.trim().toUpperCase()))];
  const decisions = DECISIONS.filter((decision) => names.includes(decision));
  if (decisions.length !== names.length) throw new InvalidArgumentError(`some of ${DECISIONS.join(', ')}`);
  return decisions;
}
