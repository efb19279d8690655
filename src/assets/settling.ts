/** The log methods that this folder uses; compatible with pino. */
export interface AssetLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Debounces file changes: a file is stable once two polls see the same signature. */
export class Settling {
  #settled: string | null = null;
  #seen: string | null = null;
  #atOnce: boolean;

  /** `atOnce`: the first poll accepts a file without waiting for a second one. An incomplete file is then rejected until it changes. */
  constructor(atOnce: boolean) {
    this.#atOnce = atOnce;
  }

  /** Returns whether the present state is stable and differs from the last accepted one. `null` means that there is no file. */
  see(signature: string | null): boolean {
    const alike = this.#atOnce || signature === this.#seen;
    this.#seen = signature;
    this.#atOnce = false;
    if (!alike || signature === this.#settled) return false;
    this.#settled = signature;
    return true;
  }

  /** Reverts an acceptance because the file turned out to be still changing: the next state counts as new. */
  unsettle(): void {
    this.#settled = 'moved';
    this.#seen = 'moved';
  }
}

/** Joins details into one line, without duplicates. */
export function joined(details: readonly string[]): string {
  return [...new Set(details)].filter((detail) => detail !== '').join('; ');
}
