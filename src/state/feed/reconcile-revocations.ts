import type { Committer } from './changes.ts';
import { fault, messageOf, type StoreWrite } from '../tables/durable.ts';
import type { ApiKeys } from '../tables/key-table.ts';
import type { RevocationFile } from './revocations.ts';

export interface RevocationParts {
  readonly changes: Committer;
  readonly apiKeys: Pick<ApiKeys, 'loadAll'>;
  readonly revocations: RevocationFile;
}

/**
 * Synchronises the table of keys with the revocation file: keys revoked in either are revoked in both. Resolves to the number of keys
 * changed in the table.
 */
export async function reconcileRevocations(
  { changes, apiKeys, revocations }: RevocationParts,
  nowMs: number,
): Promise<StoreWrite<number>> {
  try {
    const known = revocations.read();
    const here = new Map<string, number>();
    let isMissing = false;
    for (const { hash, revokedAtSeconds } of apiKeys.loadAll()) {
      if (revokedAtSeconds !== null) here.set(hash, revokedAtSeconds);
      else isMissing ||= known.has(hash);
    }
    revocations.settle(here);
    if (!isMissing) return { kind: 'ok', value: 0 };
    return await changes.commit({ kind: 'keys.revoked_again', revocations: [...known] }, { by: 'service', nowMs });
  } catch (error) {
    return fault('data_dir_unusable', `the file of revoked keys cannot be used: ${messageOf(error)}`);
  }
}
