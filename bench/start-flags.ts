/** The flags that `npm start` passes to Node.js. */
export const START_FLAGS = ['--max-semi-space-size=8', '--concurrent-marking-max-worker-num=1'] as const;
