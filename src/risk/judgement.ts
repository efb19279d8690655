/** Re-exported: all words of the wire are in `contract/vocabulary.ts`. */
export { type Label, LABELS, type ReviewVerdict, VERDICTS } from '../contract/vocabulary.ts';
