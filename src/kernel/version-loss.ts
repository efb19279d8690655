/** Why a version of a named list cannot be brought back. Source: contract, 7.6. */
export const VERSION_LOSSES = ['too_large', 'no_room'] as const;
export type VersionLoss = (typeof VERSION_LOSSES)[number];
