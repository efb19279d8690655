/** A failed start: wrong settings, a port in use, or an unusable data directory. */
export class StartFault extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
