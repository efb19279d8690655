/** Limits of the velocity store. Tags as in `limits.ts`. */

/** Choice: entities counted per event, the first ones, so that one request touches at most some thirty records. */
export const VELOCITY_ENTITIES_MAX = 8;
/** Choice: a subject not seen for this long is forgotten, as are networks, devices and locations of an entity. */
export const VELOCITY_KEEP_SECONDS = 30 * 86_400;
/** Choice: what one typed array of Node.js 20 can hold, with a margin; some 60,000,000 records. */
export const VELOCITY_BYTES_MAX = 8 * 2 ** 30;
/** Choice: locations this close to each other count as one; databases move a city's centre by less. */
export const VELOCITY_PLACE_KM = 50;
/** Choice: as far as people travel on a usual day. */
export const VELOCITY_FAMILIAR_KM = 100;
/** Source: the default rules, `travel_impossible`. */
export const VELOCITY_FAMILIAR_SECONDS = 86_400;
/** Choice: a week, so that who prepares accounts or a list has to do so a week ahead. */
export const VELOCITY_SETTLED_SECONDS = 7 * 86_400;
/** Source: the default rules, `velocity_machine_rhythm`. */
export const VELOCITY_RHYTHM_EVENTS_MIN = 8;
/**
 * Number of networks (/24, /48) in 24 h beyond which a fingerprint is common. Source: docs/rules.md, History. A phone on the move has five
 * to ten a day.
 */
export const DEVICE_COMMON_NETWORKS_24H = 20;
/** Choice: five times as many in 30 days, for a device model whose owners visit a small shop one by one. */
export const DEVICE_COMMON_NETWORKS_30D = 100;
/**
 * Choice: a browser's own id that comes from more networks in 24 h is the fault of an app or a page that gives all of its users the same
 * id, and identifies nobody. A phone on the move has five to ten.
 */
export const BROWSER_NETWORKS_24H_MAX = 100;
/** Choice: quarantined snapshots kept for inspection. */
export const VELOCITY_ASIDE_MAX = 3;
