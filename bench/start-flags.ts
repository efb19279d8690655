import { MARKING } from '../src/kernel/garbage-collection.ts';

/** The flags that `npm start` passes to Node.js. */
export const START_FLAGS = ['--max-semi-space-size=8', MARKING] as const;
