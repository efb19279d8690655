/** A start that cannot be made: wrong settings, a port that is taken, or a data directory that cannot be used. */
export class StartFault extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
