/** Re-exported: all words of the wire are in `contract/vocabulary.ts`. */
export {
  DECISIONS,
  type Decision,
  LIST_ACTIONS,
  type ListAction,
  SESSION_MODES,
  type SessionMode,
} from '../contract/vocabulary.ts';
