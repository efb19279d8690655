import type { AuditKind } from '../contract/vocabulary.ts';

export { AUDIT_KINDS, type AuditKind } from '../contract/vocabulary.ts';

/** Facts about the changed thing, in the names of the API. Never a secret, a full key or a customer's free text. */
export type AuditFacts = Readonly<Record<string, unknown>>;

/** One entry of the audit log. */
export interface AuditEntry {
  readonly atMs: number;
  /** Who made it, as `Actor` of the change feed. */
  readonly by: string;
  readonly kind: AuditKind;
  /** What was changed: an id, a fingerprint, or the first characters of a key; null for many things at once. */
  readonly target: string | null;
  /** Null if there was nothing before, or nothing is left. */
  readonly before: AuditFacts | null;
  readonly after: AuditFacts | null;
}
