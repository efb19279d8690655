import { BOTS } from '../../scripts/traffic/attacks/bots.ts';
import { BOUGHT } from '../../scripts/traffic/attacks/bought.ts';
import { CARDS } from '../../scripts/traffic/attacks/cards.ts';
import { GUESSING } from '../../scripts/traffic/attacks/guessing.ts';
import { SCRAPING } from '../../scripts/traffic/attacks/scraping.ts';
import { SIGNUPS } from '../../scripts/traffic/attacks/signups.ts';
import { STUFFING } from '../../scripts/traffic/attacks/stuffing.ts';
import { TAKEOVER } from '../../scripts/traffic/attacks/takeover.ts';

const KINDS_BY_FAMILY = {
  stuffing: STUFFING,
  guessing: GUESSING,
  takeover: TAKEOVER,
  cards: CARDS,
  signups: SIGNUPS,
  scraping: SCRAPING,
  bots: BOTS,
  bought: BOUGHT,
} as const;

export type Family = keyof typeof KINDS_BY_FAMILY;

export const FAMILIES = Object.keys(KINDS_BY_FAMILY) as readonly Family[];

const FAMILY_BY_KIND = new Map<string, Family>(
  FAMILIES.flatMap((family) => KINDS_BY_FAMILY[family].map(({ kind }) => [kind, family] as const)),
);

/** Returns the family of an attack's kind; null for people. */
export function familyOf(kind: string): Family | null {
  return FAMILY_BY_KIND.get(kind) ?? null;
}
