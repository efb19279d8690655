import type { LocalAdmission } from '../../src/local/local-admission.ts';
import type { Admission, AdmissionRequest, AdmittedId, AdmissionVerdict } from '../../src/ports/admission.ts';

/** Answers like the local admission, but only when the test lets it. */
export class LaterAdmission implements Admission {
  readonly batches: number[] = [];
  readonly #local: LocalAdmission;
  readonly #held: (() => void)[] = [];

  constructor(local: LocalAdmission) {
    this.#local = local;
  }

  async admit<T extends AdmissionRequest>(batch: readonly T[]): Promise<readonly AdmissionVerdict<T>[]> {
    this.batches.push(batch.length);
    await new Promise<void>((go) => this.#held.push(go));
    return this.#local.admit(batch);
  }

  stage(id: AdmittedId): void {
    this.#local.stage(id);
  }

  release(id: AdmittedId): void {
    this.#local.release(id);
  }

  go(): void {
    for (const go of this.#held.splice(0)) go();
  }
}
