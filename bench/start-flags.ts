import { MARKING } from '../src/kernel/garbage-collection.ts';
import { CACHED_OPTIONS } from '../src/kernel/load-program.ts';

/** The flags that `npm start` passes to Node.js. */
export const START_FLAGS = [CACHED_OPTIONS, MARKING] as const;
