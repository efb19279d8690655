import type { KeptPolicy, PolicyArchive } from '../assets/policy-archive.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';
import type { PolicyDocument } from '../risk/policy/policy-document.ts';
import { DEFAULT_DOCUMENT } from '../risk/policy/policy-set.ts';
import { PolicyView } from '../risk/policy/policy-view.ts';
import type { AppliedPolicy } from './show-decision.ts';

/** A policy as it applies to one customer. */
export interface OwnPolicy {
  /** Unix ms, since when it applies. */
  readonly atMs: number;
  readonly isFile: boolean;
  /** Null if this build cannot read it. */
  readonly view: PolicyView | null;
}

/** The policies of the installation, as they apply and applied to one customer. Settings of other customers are never in them. */
export class OwnPolicies {
  readonly #archive: Pick<PolicyArchive, 'all' | 'at'>;
  readonly #idOf: (customer: CustomerNumber) => string;

  constructor(archive: Pick<PolicyArchive, 'all' | 'at'>, idOf: (customer: CustomerNumber) => string) {
    this.#archive = archive;
    this.#idOf = idOf;
  }

  /** Returns the policy that applies now. */
  present(customer: CustomerNumber): OwnPolicy & { readonly view: PolicyView } {
    const [newest] = this.#archive.all;
    const view = this.#view(customer, newest?.document ?? DEFAULT_DOCUMENT);
    return { atMs: newest?.atMs ?? 0, isFile: newest?.isFile ?? false, view };
  }

  /** Newest first; the first one applies. */
  all(customer: CustomerNumber): readonly OwnPolicy[] {
    return this.#archive.all.map(({ atMs, isFile, document }: KeptPolicy) => ({
      atMs,
      isFile,
      view: document === null ? null : this.#view(customer, document),
    }));
  }

  /**
   * Returns the policy by which a decision was made; null if it is not known any more. Workers take a new policy some milliseconds after
   * it counts as loaded, so a decision of that moment may be explained by the next one.
   */
  appliedTo(
    customer: CustomerNumber,
    record: Pick<DecisionRecord, 'occurredAtMs' | 'eventType'>,
  ): AppliedPolicy | null {
    const document = this.#archive.at(record.occurredAtMs);
    if (document === null) return null;
    return { version: document.version, bands: this.#view(customer, document).policyOf(record.eventType).bands };
  }

  #view(customer: CustomerNumber, document: PolicyDocument): PolicyView {
    return new PolicyView(document, this.#idOf(customer));
  }
}
