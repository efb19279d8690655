/**
 * Whether tests run in their full length: more rounds, kills and inputs of the same promises. `npm test` and the short form of
 * `npm run test:long` run fewer of them.
 */
export const IS_FULL = process.env['GATEHOUSE_TEST_LONG'] === 'full';

/** So many rounds, or parts of an input, in full; a third of that otherwise. */
export function timesInFull(times: number): number {
  return IS_FULL ? times : Math.ceil(times / 3);
}
