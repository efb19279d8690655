/**
 * Whether tests run at full length, with more rounds, kills and inputs for the same properties. `npm test` and the short form of `npm run
 * test:long` run fewer of them.
 */
export const IS_FULL = process.env['GATEHOUSE_TEST_LONG'] === 'full';

/** Returns the number of rounds or inputs: all at full length, otherwise a third. */
export function timesInFull(times: number): number {
  return IS_FULL ? times : Math.ceil(times / 3);
}
