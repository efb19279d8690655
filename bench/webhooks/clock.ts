/** The machine's monotonic clock, ms with fractions. It is the same in all processes, so times of two processes are comparable. */
export function nowMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}
