/** The log lines that this folder writes; pino's shape. */
export interface LayerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Tells a file that changed from one that is still changing: what two looks find alike is settled. */
export class Settling {
  #settled: string | null = null;
  #seen: string | null = null;
  #atOnce: boolean;

  /** `atOnce`: the first look takes the file as it is, for it validates or is refused until it changes. */
  constructor(atOnce: boolean) {
    this.#atOnce = atOnce;
  }

  /** Whether what is there now is settled, and not what was taken last. `null` is "nothing there". */
  see(signature: string | null): boolean {
    const alike = this.#atOnce || signature === this.#seen;
    this.#seen = signature;
    this.#atOnce = false;
    if (!alike || signature === this.#settled) return false;
    this.#settled = signature;
    return true;
  }

  /** What was settled turned out to be still changing: it counts as never seen. */
  unsettle(): void {
    this.#settled = 'moved';
    this.#seen = 'moved';
  }
}

/** Details in one line, each once. */
export function joined(details: readonly string[]): string {
  return [...new Set(details)].filter((detail) => detail !== '').join('; ');
}
