/**
 * Whether tests run in their full length: more rounds, kills and inputs of the same promises. `npm test` and the short form of
 * `npm run test:long` run fewer of them.
 */
export const IS_FULL = process.env['GATEHOUSE_TEST_LONG'] === 'full';
