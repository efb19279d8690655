import { signal } from '@preact/signals';

/** Choice: room for two columns beside the rail. */
const WIDE = matchMedia('(min-width: 1000px)');
const isWide = signal(WIDE.matches);
WIDE.addEventListener('change', ({ matches }) => (isWide.value = matches));

/** Whether the window has room for two columns. For parts that are loaded only then; everything else is up to the styles. */
export function useWide(): boolean {
  return isWide.value;
}
