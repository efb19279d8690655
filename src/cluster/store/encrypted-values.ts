import { decrypt, encrypt } from '../../kernel/encryption.ts';

/** Purpose of the key of the changes, for `keyFor`: the same on all nodes, which share their master key. */
export const CLUSTER_VALUES_PURPOSE = 'cluster-values';

/** Purpose of the key of everything else: values of one cluster mean nothing in another one with the same master key. */
export function clusterPurpose(cluster: string): string {
  return `${CLUSTER_VALUES_PURPOSE}/${cluster}`;
}

/**
 * Values of customers as the shared store holds them: encrypted, and bound to their Redis key. The operator of the store can neither
 * read a value nor move it to another key.
 */
export class EncryptedValues {
  readonly #key: Uint8Array;

  /** `key`: 32 bytes, `keyFor(clusterPurpose(…))`. */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** Adds 29 bytes. */
  encrypt(redisKey: string, plain: Uint8Array): Buffer {
    return encrypt(this.#key, plain, redisKey);
  }

  /** Returns null for a value that was not encrypted for this Redis key, or by a node with another master key. */
  decrypt(redisKey: string, value: Uint8Array): Buffer | null {
    return decrypt(this.#key, value, redisKey);
  }
}
