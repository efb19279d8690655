import { GEO_PACKAGES } from '../assets/asset-files.ts';
import { GEO_SLOTS, type GeoContent, type GeoSlot } from '../assets/asset-messages.ts';
import { GeoFolder } from '../assets/geo-folder.ts';
import { useMailLists } from '../risk/signals/email.ts';
import { createGeoIp, type GeoIp } from '../score/geoip.ts';

/** The location databases that a server with the same settings would use. */
export interface ReplayGeo {
  readonly geo: GeoIp;
  /** Slots without a usable database. */
  readonly missing: readonly GeoSlot[];
  /** Files that were refused, and why. */
  readonly notes: readonly string[];
}

const ABSENT: GeoContent = { kind: 'absent', generation: 0, detail: '' };

/** Reads the databases once. `folder` null: none. `withPackages`: also those that are installed as packages. */
export async function openReplayGeo(folder: string | null, withPackages: boolean): Promise<ReplayGeo> {
  const notes: string[] = [];
  const contents: Record<GeoSlot, GeoContent> = {
    city: ABSENT,
    country: ABSENT,
    asn: ABSENT,
    anonymiser: ABSENT,
    networks: ABSENT,
    domains: ABSENT,
  };
  if (folder !== null) {
    const log = {
      info: () => {},
      warn: (fields: object) => {
        if ('detail' in fields && 'file' in fields) notes.push(`${String(fields.file)}: ${String(fields.detail)}`);
      },
    };
    const found = await new GeoFolder(folder, withPackages ? GEO_PACKAGES : [], log).look(() => 1);
    for (const [slot, content] of found) contents[slot] = content;
  }
  const missing = GEO_SLOTS.filter((slot) => contents[slot].kind !== 'ready');
  const geo = createGeoIp(contents);
  useMailLists(geo.mailLists());
  return { geo, missing, notes };
}
