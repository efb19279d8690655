import type { ConditionFact, ConditionNames } from './condition.ts';
import { type AttributeTypes, decisionNames } from './decision-facts.ts';
import type { DecisionInput } from './decision-input.ts';
import { REQUEST_FACTS } from './request-facts.ts';

/** The facts that are known when an event is counted: those of the request itself. */

/** Asks the history. */
const OF_HISTORY = 'token.replayed';
const OF_REQUEST: ReadonlySet<string> = new Set(
  REQUEST_FACTS.map(({ name }) => name).filter((name) => name !== OF_HISTORY),
);
const ALSO = /^(?:attributes|email)\.|^entity\..+\.value$/;

function isKnown(name: string): boolean {
  return OF_REQUEST.has(name) || ALSO.test(name);
}

/** As `decisionNames`, for the conditions of counters and for what they count. */
export function countingNames(attributes: AttributeTypes): ConditionNames<DecisionInput> {
  const names = decisionNames({ attributes, counters: NO_COUNTERS }, null);
  return {
    ...names,
    known: names.known.filter(isKnown),
    beside: (path) => (names.beside?.(path) ?? []).filter(isKnown),
    fact(path): ConditionFact<DecisionInput> | null {
      const fact = names.fact(path);
      return fact === null || isKnown(fact.name) ? fact : null;
    },
    whyNot(name) {
      const isLater = names.fact(name.split('.')) !== null || name.startsWith('counters.');
      return isLater ? `${name} is known only after the event was counted.` : null;
    },
  };
}

const NO_COUNTERS: ReadonlyMap<string, string> = new Map();
