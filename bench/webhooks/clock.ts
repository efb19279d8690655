/** The machine's monotonic clock, ms with fractions: the same in all processes, so that times of two may be compared. */
export function nowMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}
