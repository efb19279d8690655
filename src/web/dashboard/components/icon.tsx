import type { JSX } from 'preact';

/** Icons as strokes on a grid of 16: drawn here, so that nothing is fetched. */
const PATHS = {
  overview: 'M2 13.5h12M3.5 11V7.5M6.5 11V4M9.5 11V6M12.5 11V2.5',
  decisions: 'M5.5 4H14M5.5 8H14M5.5 12H14M2.2 4h.1M2.2 8h.1M2.2 12h.1',
  review: 'M2 8.5 5.5 12 14 3.5M9 12.5h5',
  lists: 'M8 1.8 13.5 4v4c0 3.2-2.3 5.3-5.5 6.2C4.8 13.3 2.5 11.200 2.500 8V4L8 1.800Z',
  rules: 'M2 4.500h5M11 4.500h3M9 2.500v4M2 11.500h2M8 11.500h6M6 9.500v4',
  models: 'M8 2.500v3M8 5.500 3.500 9.500M8 5.500l4.500 4M2 9.500h3v3H2zM11 9.500h3v3h-3z',
  crawlers: 'M3.500 7h9v6h-9ZM8 7V3.500M6.500 2.500h3M6 9.500h.1M10 9.500h.1M1.500 9v2.500M14.500 9v2.500',
  webhooks: 'M2 8h7M6.500 4.500 10 8l-3.500 3.500M13.500 2.500v11',
  extractions: 'M8 2v7.500M4.500 6.500 8 10l3.500-3.500M2.500 13.500h11',
  watches: 'M1.5 8c3.500-5.500 9.500-5.500 13 0-3.500 5.500-9.500 5.500-13 0ZM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z',
  try: 'M2.500 3.500 6.500 8l-4 4.500M8 12.500h5.500',
  keys: 'M10 9.500a3.500 3.500 0 1 0-3.300-2.300L2 12v2h2.500v-2h2v-2l.8-.7A3.500 3.500 0 0 0 10 9.500ZM10.800 5.200h.1',
  audit: 'M4 1.800h5.500L13 5.300v9H4zM9.500 1.800v3.500H13M6 8.500h5M6 11.300h5',
  links:
    'M4 5.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM12 9.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM5 14.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM5.800 4.400l4.400 2.200M10.400 8.700 6.600 11.300',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.700 10.700 14 14',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1.200v1.500M8 13.300v1.500M1.200 8h1.500M13.300 8h1.500M3.200 3.200l1 1M11.800 11.800l1 1M12.800 3.200l-1 1M4.200 11.800l-1 1',
  moon: 'M13.500 9.500A6 6 0 0 1 6.500 2.500a6 6 0 1 0 7 7Z',
  system: 'M2 3h12v8H2zM5.500 14h5M8 11v3',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.800V8l2.200 1.500',
  warning: 'M8 2 14.500 13.500h-13ZM8 6.500v3.200M8 11.700h.1',
  error: 'M5.300 2h5.400L14 5.300v5.400L10.700 14H5.300L2 10.700V5.300ZM8 5v3.700M8 11h.1',
  check: 'M2.500 8.500 6 12l7.500-8',
  close: 'M3.500 3.500l9 9M12.500 3.500l-9 9',
  copy: 'M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3',
  more: 'M3 8h.1M8 8h.1M13 8h.1',
  left: 'M10 3 5 8l5 5',
  right: 'M6 3l5 5-5 5',
  down: 'M3 6l5 5 5-5',
  up: 'M3 10l5-5 5 5',
  filter: 'M2 3.500h12L9.500 8.700V13l-3-1.500V8.700Z',
  external: 'M9 2.500h4.500V7M13.500 2.500 7.500 8.500M11 9.500v4H2.500V5H6.500',
  download: 'M8 2v7.500M4.500 6.500 8 10l3.500-3.500M2.500 13.500h11',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  table: 'M2 3h12v10H2zM2 6.500h12M2 9.700h12M6.500 6.500V13',
  out: 'M6.500 2.500h-4v11h4M6 8h8M11 5l3 3-3 3',
  help: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM6.300 6.300a1.800 1.800 0 1 1 2.500 1.800c-.6.3-.8.6-.8 1.200M8 11.400h.1',
  play: 'M4.500 2.500v11l8.500-5.500Z',
  pause: 'M5 3v10M11 3v10',
  refresh: 'M13.500 3v3.500H10M13.200 6.300A5.500 5.500 0 1 0 13.500 9',
  pin: 'M8 14.500s4.700-4.400 4.700-8A4.700 4.700 0 0 0 8 1.800a4.700 4.700 0 0 0-4.700 4.700c0 3.600 4.700 8 4.700 8ZM8 8a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3Z',
} as const;

export type IconName = keyof typeof PATHS;

/** Decoration: the words beside it say the same. */
export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }): JSX.Element {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
