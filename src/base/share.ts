/**
 * Whether one of several holders may take one more of a bound that all share: as long as it holds less than is free. Alone it gets half,
 * whoever comes next half of what is left; of `n` that take all they can get at the same time each has 1 / (n + 1). So no few holders
 * shut out the others.
 */
export function hasShare(held: number, taken: number, max: number): boolean {
  return held < max - taken;
}
