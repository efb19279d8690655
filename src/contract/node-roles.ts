/**
 * What a node does. `decide`: decisions and their outcomes. `api`: every other endpoint for customers. `deliver`: sends webhook
 * deliveries. `extract`: runs extraction jobs. Source: contract, 15.7.
 */
export const NODE_ROLES = ['decide', 'api', 'deliver', 'extract'] as const;
export type NodeRole = (typeof NODE_ROLES)[number];
