/** Stops this thread, as the system does on a busy machine. Takes no processor time. */
export function pauseThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
