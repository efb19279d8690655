import type { JSX } from 'preact';
import type { ExplainedDecisionBody, LoggedDecisionPage, LoggedDecisionRow } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Section } from '../../components/pane.tsx';
import { Skeleton } from '../../components/state-view.tsx';
import { countryName, formatCount } from '../../format.ts';
import { useLive } from '../../use-live.ts';
import { useModule } from '../../use-module.ts';
import { cutText, visibleText } from '../../visible-text.ts';
import type { MapPoint } from './travel-map.tsx';

const ROWS = 30;

const COLUMNS: readonly Column<MapPoint>[] = [
  { id: 'location', title: 'Location', grows: true, render: ({ title }) => title },
  {
    id: 'degrees',
    title: 'Latitude, longitude',
    align: 'right',
    render: ({ latitude, longitude }) => `${latitude.toFixed(1)}, ${longitude.toFixed(1)}`,
  },
  {
    id: 'accuracy',
    title: 'Accuracy',
    align: 'right',
    render: ({ accuracyKm }) => (accuracyKm === null ? '–' : `${formatCount(accuracyKm)} km`),
  },
];

/** Shows where the request came from, and where the same identity or session was before. Empty without a location. */
export function TravelSection({ decision }: { readonly decision: ExplainedDecisionBody }): JSX.Element | null {
  const { location, links, occurred_at: at } = decision;
  const link = links.find(({ kind }) => kind.startsWith('entity.')) ?? links.find(({ kind }) => kind === 'session');
  const before = useLive<LoggedDecisionPage>(
    location === null || link === undefined
      ? null
      : v1('/decisions', { link: `${link.kind}:${link.id}`, until: at + 1, limit: ROWS }),
  );
  const map = useModule(location !== null, () => import('./travel-map.tsx'));
  const here = toPoint(decision);
  if (here === null) return null;
  const earlier = (before.data?.data ?? []).filter(
    (row) => row.request_id !== decision.request_id && isElsewhere(row, here),
  );
  const previous = earlier.map(toPoint).find((point) => point !== null) ?? null;
  return (
    <Section title={previous === null ? 'Location' : 'Travel'} note="of the address, not of the person">
      {map === null ? <Skeleton form="chart" /> : <map.TravelMap from={previous} to={here} />}
      <DataTable
        caption="Locations"
        columns={COLUMNS}
        rows={[...(previous === null ? [] : [previous]), here]}
        keyOf={({ at, title }) => `${at} ${title}`}
        keys={false}
      />
    </Section>
  );
}

function toPoint(row: Pick<LoggedDecisionRow, 'location' | 'country' | 'occurred_at'>): MapPoint | null {
  const { location, country, occurred_at: at } = row;
  if (location === null) return null;
  return {
    title: country === null ? 'Unknown country' : cutText(visibleText(countryName(country)), 40),
    latitude: location.latitude,
    longitude: location.longitude,
    accuracyKm: location.accuracy_km,
    at,
  };
}

function isElsewhere({ location, occurred_at: at }: LoggedDecisionRow, here: MapPoint): boolean {
  return (
    location !== null && at <= here.at && (location.latitude !== here.latitude || location.longitude !== here.longitude)
  );
}
