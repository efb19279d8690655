import { signal } from '@preact/signals';

/** Choice: room for two columns beside the rail. */
const WIDE = matchMedia('(min-width: 1000px)');
const isWide = signal(WIDE.matches);
WIDE.addEventListener('change', ({ matches }) => (isWide.value = matches));

/** Source: the styles, where rows of tables become cards. */
const PHONE = matchMedia('(max-width: 600px)');
const isPhone = signal(PHONE.matches);
PHONE.addEventListener('change', ({ matches }) => (isPhone.value = matches));

/** True where rows of tables are cards. */
export function usePhone(): boolean {
  return isPhone.value;
}

/** True where the window has room for two columns. For parts that are loaded only then; the rest is left to the styles. */
export function useWide(): boolean {
  return isWide.value;
}
