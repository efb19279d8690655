import { type GeoPermissibleObjects, geoCircle, geoDistance, geoNaturalEarth1, geoPath } from 'd3-geo';
import type { JSX } from 'preact';
import { feature } from 'topojson-client';
import landTopology from 'world-atlas/land-110m.json';
import { formatCount, formatSeconds } from '../../format.ts';

/** A world without tiles: nothing is requested from outside. Loaded only when a decision has a place. */

export interface MapPoint {
  readonly title: string;
  readonly latitude: number;
  readonly longitude: number;
  readonly accuracyKm: number | null;
  /** Unix seconds. */
  readonly at: number;
}

const WIDTH = 640;
const HEIGHT = 320;
const EARTH_KM = 6_371;
const KM_OF_A_DEGREE = 111.2;

/** Choice: degrees around the points, so that a short way is not one dot. */
const AROUND_DEGREES = 12;

type Topology = Parameters<typeof feature>[0];

// The file's type is that of JSON, which does not say which strings it has.
const topology = landTopology as unknown as Topology;
const land = feature(topology, topology.objects['land'] ?? { type: 'GeometryCollection', geometries: [] });

export function mapDistanceKm(a: MapPoint, b: MapPoint): number {
  return geoDistance([a.longitude, a.latitude], [b.longitude, b.latitude]) * EARTH_KM;
}

/** One point, or two with the great circle between them and what the way would have needed. */
export function TravelMap({ from, to }: { readonly from: MapPoint | null; readonly to: MapPoint }): JSX.Element {
  const points = from === null ? [to] : [from, to];
  const projection = geoNaturalEarth1().rotate([-middleOf(points), 0]);
  const extent: GeoPermissibleObjects = {
    type: 'MultiPoint',
    coordinates: points.flatMap(({ latitude, longitude }) => [
      [longitude - AROUND_DEGREES, Math.max(-85, latitude - AROUND_DEGREES / 2)],
      [longitude + AROUND_DEGREES, Math.min(85, latitude + AROUND_DEGREES / 2)],
    ]),
  };
  projection.fitExtent(
    [
      [16, 16],
      [WIDTH - 16, HEIGHT - 16],
    ],
    extent,
  );
  projection.clipExtent([
    [0, 0],
    [WIDTH, HEIGHT],
  ]);
  const path = geoPath(projection);
  const line: GeoPermissibleObjects = {
    type: 'LineString',
    coordinates: points.map(({ longitude, latitude }) => [longitude, latitude]),
  };
  const sentence = from === null ? to.title : wayOf(from, to);
  return (
    <figure class="travel">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`Map: ${sentence}`}>
        <rect class="map-sea" width={WIDTH} height={HEIGHT} />
        <path class="map-land" d={path(land) ?? undefined} />
        {points.map(({ title, latitude, longitude, accuracyKm }) => (
          <path
            key={`${title} ${latitude} ${longitude}`}
            class="map-accuracy"
            d={
              path(
                geoCircle()
                  .center([longitude, latitude])
                  .radius((accuracyKm ?? 10) / KM_OF_A_DEGREE)(),
              ) ?? undefined
            }
          />
        ))}
        {from !== null && <path class="map-way" d={path(line) ?? undefined} />}
        {points.map((point) => {
          const place = projection([point.longitude, point.latitude]);
          if (place === null) return null;
          const [x, y] = place;
          const isRight = x > WIDTH * 0.75;
          return (
            <g key={`${point.title} ${point.latitude} ${point.longitude}`}>
              <circle class={point === to ? 'map-point map-to' : 'map-point'} cx={x} cy={y} r="5" />
              <text class="map-text" x={isRight ? x - 9 : x + 9} y={y + 4} text-anchor={isRight ? 'end' : 'start'}>
                {point.title}
              </text>
            </g>
          );
        })}
      </svg>
      <figcaption class="muted small">{sentence}</figcaption>
    </figure>
  );
}

function middleOf(points: readonly MapPoint[]): number {
  const [first, second] = points;
  if (first === undefined) return 0;
  if (second === undefined) return first.longitude;
  // The shorter way round: across the date line too.
  const by = ((second.longitude - first.longitude + 540) % 360) - 180;
  return first.longitude + by / 2;
}

function wayOf(from: MapPoint, to: MapPoint): string {
  const km = mapDistanceKm(from, to);
  const seconds = Math.max(1, to.at - from.at);
  const speed = km / (seconds / 3_600);
  return (
    `${from.title} to ${to.title}: ${formatCount(Math.round(km))} km in ${formatSeconds(seconds)}, ` +
    `${formatCount(Math.round(speed))} km/h`
  );
}
