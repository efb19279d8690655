import { type Decision, DECISIONS } from '../contract/vocabulary.ts';

/** Re-exported: all words of the wire are in `contract/vocabulary.ts`. */
export {
  DECISIONS,
  type Decision,
  LIST_ACTIONS,
  type ListAction,
  SESSION_MODES,
  type SessionMode,
} from '../contract/vocabulary.ts';

const FIRST_STOP = DECISIONS.indexOf('SOFT_CHALLENGE');

/** Returns whether a decision stops the person: from SOFT_CHALLENGE on. */
export function isStop(decision: Decision): boolean {
  return DECISIONS.indexOf(decision) >= FIRST_STOP;
}
