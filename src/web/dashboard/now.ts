import { signal } from '@preact/signals';

/** The present time, Unix seconds, for "3 min ago": updated every 5 s, and only while it is shown. */
export const now = signal(Math.floor(Date.now() / 1_000));
setInterval(() => {
  if (!document.hidden) now.value = Math.floor(Date.now() / 1_000);
}, 5_000);
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) now.value = Math.floor(Date.now() / 1_000);
});
