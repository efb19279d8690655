/** What a secret key may do. Source: contract, 3.10. */
export const KEY_SCOPES = ['gate', 'decide', 'read', 'write', 'admin'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** Scopes of a key that was made without any: of every key of earlier versions, and of the command line's without `--scopes`. */
export const DEFAULT_KEY_SCOPES: readonly KeyScope[] = ['decide', 'read', 'write', 'admin'];
/** A public key is for decide and the collector only. */
export const PUBLIC_KEY_SCOPES: readonly KeyScope[] = ['decide'];

/** The rights of a key, beside its customer and its allowance. */
export interface KeyRights {
  /** In the order of `KEY_SCOPES`. */
  readonly scopes: readonly KeyScope[];
  /** The key is unknown from then on; null for ever. */
  readonly expiresAtSeconds: number | null;
  /** Networks in canonical CIDR form that the key may be used from; empty for every address. */
  readonly networks: readonly string[];
}

/** Returns the scopes in the order of `KEY_SCOPES`, each once. */
export function sortedScopes(scopes: Iterable<KeyScope>): readonly KeyScope[] {
  const given = new Set(scopes);
  return KEY_SCOPES.filter((scope) => given.has(scope));
}

/** Returns whether the rights are those of a key that was made without any. */
export function areUsualRights({ scopes, expiresAtSeconds, networks }: KeyRights): boolean {
  const isUsual =
    scopes.length === DEFAULT_KEY_SCOPES.length && DEFAULT_KEY_SCOPES.every((one) => scopes.includes(one));
  return isUsual && expiresAtSeconds === null && networks.length === 0;
}
